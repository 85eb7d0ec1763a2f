"""Mangled names that have every production of the grammar, as compilers make them, or nearly."""

from __future__ import annotations

#: As expressions in arguments of a template.
_EXPRESSIONS = (
    "T_", "fp_", "fp0_", "sti", "szfp_", "sr1A1b", "sr1A1bIiE", "clfp_fp0_E", "cvifp_", "cvi_fp_fp0_E", "dtfp_1a",
    "ptfp_1a", "sZT_", "spT_", "qufp_fp_fp_", "pp_fp_", "ngLi1E", "plLi1ELi2E", "3fooIiE", "3foo", "L_Z1gvE", "@",
)  # fmt: skip
#: As types among arguments of a template.
_TYPES = (
    "v", "rPVKi", "OFviE", "FYvRE", "FvOE", "A3_i", "A_i", "AszT__i", "M1AFvvE", "U8__vectori", "u3foo", "T_IiE",
    "T0_", "SaIcE", "SaN1BE", "Dn", "Dt1aE", "DTfp_E", "DoFvvE", "DpT_", "Dx", "N1A1BE", "3FooIiES_", "Jics1AE",
    "Li3E", "LbE", "L_Z1fivE", "Li3", "S0_", "S@", "9ab",
)  # fmt: skip
_NAMES = (
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8capacityEv", "_ZNSt6thread6_StateD2Ev", "_ZN1AcvRSsEv",
    "_ZN12_GLOBAL__N_11fILi3EEEvPFiRKT_ES5_", "_RNvC3foo3bar", "_ZTV3foo", "_ZSaIcE", "_ZSsC1Ev", "_ZZ3foovE3bar",
    "_ZZ3foovEs", "_ZZ3foovEs_0", "_ZZ3foovEd_3bar", "_ZZ3foovEd1_3bar", "_ZZ3foovE3bar__12_", "_ZZ3foovE3bar_1",
    "_ZZ3foov", "_ZN3FooIiE3BarES0_", "_ZN1A1BMUlvE_clEv", "_ZNT_3fooE", "_ZNT0_IiEE", "_ZN1ADtfp_E1bE", "_ZNDtfp_E1bE",
    "_ZN1AC1Ev", "_ZN1BCI11AEi", "_ZN1AD0Ev", "_ZN1AUliE0_clEi", "_ZN1AUlvEx_", "_ZN1AUt_3fooEv", "_Zli2_xy",
    "_ZN1A3fooB5cxx11Ev", "_ZN1AxxE", "_ZL3foo", "_Z9abc", "_Z", "_ZNSs3fooE", "_ZNSaIcE3fooE", "_ZNVKR3fooE",
    "_ZNSt1AS_3fooE", "_ZNStaS1AE", "_Z" + "N" * 120, "_Z1fI" + "P" * 120 + "iEvv",
    "_ZN11$LT$foo$GT$4$u7e17h0123456789abcdefE", "_ZN9a$u20$b..4$C$c17h0123456789abcdefE",
    "_ZN7$ud800$1a17h0123456789abcdefE",
)  # fmt: skip

#: Some are damaged: they stand for themselves.
MANGLED = (
    *_NAMES,
    *(f"_Z1fIX{expression}EEvv" for expression in _EXPRESSIONS),
    *(f"_Z1fI{held}Evv" for held in _TYPES),
)
