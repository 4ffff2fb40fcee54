/* isa.h - which instruction sets the processor at hand has.
 *
 * Fast kernels are compiled once per level (kernels_*.c) and chosen here at run time; nothing else in
 * the engine asks what the processor is. Thread-safe. */
#ifndef ENG_ISA_H
#define ENG_ISA_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eng_isa {
    ENG_ISA_PORTABLE,    /* GCC vector extensions, 16-byte vectors */
    ENG_ISA_AVX2,        /* AVX2, FMA, F16C */
    ENG_ISA_AVX512,      /* AVX-512 F BW VL DQ */
    ENG_ISA_AVX512_BF16, /* and vdpbf16ps */
} eng_isa;

eng_isa eng_isa_level(void);
/* Tests only: use at most this level from now on. Returns the level in force. */
eng_isa eng_isa_limit(eng_isa most);
const char *eng_isa_name(eng_isa);

#ifdef __cplusplus
}
#endif
#endif
