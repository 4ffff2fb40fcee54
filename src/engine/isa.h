/* isa.h - which instruction sets the processor at hand has.
 *
 * Fast kernels are compiled once per level (kernels_*.c, loop_*.c) and chosen here at run time; nothing else in the engine asks what the
 * processor is. TORCH_TPU_ISA lowers the level. A new level (AMX, SVE) is one more value here, a kernels_*.c with its table, and a case in
 * eng_kernels_get. Thread-safe.
 *
 * What has the same bits at every level: moves, integers, comparisons, single roundings, sorting, random bits. Between levels with
 * fused multiply-add (all but portable on x86-64): also every elementwise op. Sums, products and what is made of them depend on the width
 * of the vectors. Within one level nothing depends on the number of threads. */
#ifndef ENG_ISA_H
#define ENG_ISA_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eng_isa {
    ENG_ISA_PORTABLE,    /* GCC vector extensions, 16-byte vectors: any x86-64, NEON */
    ENG_ISA_AVX2,        /* AVX2, FMA, F16C */
    ENG_ISA_AVX512,      /* AVX-512 F BW VL DQ CD */
    ENG_ISA_AVX512_BF16, /* and vdpbf16ps */
} eng_isa;

eng_isa eng_isa_level(void);
/* Tests only: use at most this level from now on. Returns the level in force. */
eng_isa eng_isa_limit(eng_isa most);
const char *eng_isa_name(eng_isa);
/* What the processor says it has, known names with spaces between: "avx2 ... amx_tile". */
const char *eng_isa_features(void);

#ifdef __cplusplus
}
#endif
#endif
