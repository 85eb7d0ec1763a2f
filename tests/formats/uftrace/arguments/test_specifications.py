"""What says which values uftrace records: specifications, patterns, names of functions."""

from __future__ import annotations

import pytest
from support.uftrace.files import (
    BAR,
    FOO,
    PROGRAM,
    Directory,
    events,
    field_types,
    one_call,
    payload,
)

from converter.formats.elf.demangle import demangled
from converter.formats.uftrace.arguments.patterns import PatternError, compile_extended
from converter.formats.uftrace.arguments.specifications import (
    SpecificationError,
    parse_specification,
)
from converter.formats.uftrace.layout import Feature
from converter.ir.field_classes import (
    Label,
)


@pytest.mark.parametrize(
    ("pattern", "argspec", "applies"), [
    ("regex", "^f.o$@arg1/i32", True),
    ("regex", "fo@arg1/i32", False),
    ("regex", "f(a|o)+$@arg1/i32", True),
    ("glob", "f*@arg1/i32", True),
    ("glob", "f?o@arg1/i32", True),
    ("simple", "f*@arg1/i32", False),
    ("simple", "foo@arg1/i32", True),
])  # fmt: skip
def test_patterns_of_functions(tmp_path, pattern, argspec, applies):
    directory = Directory(pattern=pattern, argspec=argspec)
    entry = directory.pack("i4x", 7) if applies else None
    assert payload(one_call(directory, tmp_path, entry)) == ({"arg1": 7} if applies else {})


def test_names_are_matched_without_arguments(tmp_path):
    directory = Directory(argspec="ns::bar@arg1/i32")
    trace = one_call(directory, tmp_path, directory.pack("i4x", 7), address=BAR)
    assert payload(trace) == {"arg1": 7}


@pytest.mark.parametrize(
    ("argspec", "expected"), [
    # An exact name stands against a pattern, of two equals the later one does; values are in the order of
    # their specifications.
    ("foo@arg1/i32;^f@arg1/i64", {"arg1": 1}),
    ("^f@arg1/i64;foo@arg1/i32", {"arg1": 1}),
    ("foo@arg1/i64;foo@arg1/i32", {"arg1": 1}),
    ("foo@arg2/i32,arg1/i32", {"arg2": 1, "arg1": 2}),
])  # fmt: skip
def test_precedence_of_specifications(tmp_path, argspec, expected):
    directory = Directory(argspec=argspec)
    assert payload(one_call(directory, tmp_path, directory.pack("ii", 1, 2))) == expected


DBG = (
    f"# path name: {PROGRAM}\nE: enum Kind {{A,B=4}}\nF: {FOO:x} foo\nL: 12 foo.c\n"
    "A: @arg1/i8,arg2/e:Kind\nR: @retval/i8\n"
)


@pytest.mark.parametrize(
    ("user", "debug", "table", "expected"), [
    (True, True, True, {"arg1": 1}),
    (False, True, True, {"arg1": 1, "arg2": 4, "arg2_text": b"B"}),
    (False, False, True, {"arg1": 0x400000001}),
])  # fmt: skip
def test_precedence_of_user_debug_info_and_table(tmp_path, user, debug, table, expected):
    directory = Directory(
        argspec="foo@arg1/i32" if user else "",
        argauto="foo@arg1/u" if table else "",
        auto_args=True,
    )
    directory.features |= Feature.AUTO_ARGS
    if debug:
        directory.features |= Feature.DEBUG_INFO
        directory.files["app.dbg"] = DBG.encode()
    entry = directory.pack("b3xi4x", 1, 4) if debug and not user else directory.pack("ii", 1, 4)
    trace = one_call(directory, tmp_path, entry)
    assert payload(trace) == expected
    if "arg2" in expected:
        # Also of an enumeration the bytes are those of a long.
        assert field_types(trace, "arg2")[0].labels == (Label(0, 0, "A"), Label(4, 4, "B"))


def test_tables_are_by_demangled_name(tmp_path):
    directory = Directory(
        argauto="_ZN2ns3barEi@arg1/i32", retauto="ns::bar@retval/i32", auto_args=True
    )
    trace = one_call(directory, tmp_path, directory.pack("i4x", 7), directory.pack("i4x", 8), BAR)
    assert payload(trace) == {"arg1": 7}
    assert events(trace)[1][4] == {"retval": 8}


@pytest.mark.parametrize(
    "text", ["arg1/q", "arg1/i7", "fparg1/16", "arg/i", "", "retval/e:", "arg1/t"]
)
def test_what_is_no_specification(text):
    with pytest.raises(SpecificationError):
        parse_specification(text, 8)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"), [
    ("^a{2,3}$", "aaa", True), ("^a{2,3}$", "aaaa", False), ("^a{2,}$", "a" * 9, True), ("a{0}b", "b", True),
    ("[[:digit:]_]x", "a7x", True), ("[^a-c]", "abc", False), ("[]x]", "]", True), ("(ab|c)*$", "abc", True),
    (r"\.", "a.b", True), ("^$", "", True), ("x?y+", "y", True), ("[a-]", "-", True),
    ("^(a+)+$", "a" * 99 + "b", False),
])  # fmt: skip
def test_extended_regular_expressions(pattern, text, matches):
    assert compile_extended(pattern)(text) is matches


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a**",
        "*",
        "[a",
        "a{x}",
        "a{99999}",
        "[[:nope:]]",
        "\\",
        "(" * 999,
        "(((a{60}){60}){60})",
    ],
)
def test_what_is_no_regular_expression(pattern):
    with pytest.raises(PatternError):
        compile_extended(pattern)


@pytest.mark.parametrize(
    ("mangled", "name"), [
    ("main", "main"),
    ("_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8capacityEv", "std::__cxx11::basic_string::capacity"),
    ("_ZSt17__throw_bad_allocv", "std::__throw_bad_alloc"),
    ("_ZNSaIcED2Ev", "std::allocator::~allocator"),
    ("_ZNSt6thread6_StateD2Ev", "std::thread::_State::~_State"),
    ("_Znwm", "operator new"),
    ("_ZNK2ns1WIiEcvbEv", "ns::W::operator bool"),
    ("_ZN1AcvPKcEv", "A::operator char const*"),
    ("_ZN1AcvRSsEv", "A::operator std::basic_string<>&"),
    ("_ZdaPv", "operator delete[]"),
    ("_ZSteqNSt6thread2idES0_", "std::operator=="),
    ("_ZL2jb", "jb"),
    ("_ZNSt15__uniq_ptr_dataINSt6thread6_StateESt14default_deleteIS1_ELb1ELb1EECI1St15__uniq_ptr_implIS1_S3_EEPS1_",
     "std::__uniq_ptr_data::__uniq_ptr_data"),
    ("_ZN3foo3bar17h0123456789abcdefE", "foo::bar"),
    ("_ZN11$LT$foo$GT$4$u7e17h0123456789abcdefE", "<foo>::$u7e"),
    ("_ZN9a$u20$b..4$C$c17h0123456789abcdefE", "a b::::,c"),
    ("_ZN7$ud800$1a17h0123456789abcdefE", "$ud800$::a"),
    ("_ZN2\N{GREEK SMALL LETTER BETA}3bar17h0123456789abcdefE", "\N{GREEK SMALL LETTER BETA}::bar"),
    ("_ZN1\udcff3barEv", "\udcff::bar"),
    ("_GLOBAL__sub_I__Z3foov", "_GLOBAL__sub_I_foo"),
    ("_GLOBAL__sub_I__ZN2ns1AC2Ev", "_GLOBAL__sub_I_ns::A::A"),
    ("_GLOBAL__sub_I_main.cpp", "_GLOBAL__sub_I_main.cpp"),
    ("_GLOBAL__sub_I__Znope", "_GLOBAL__sub_I__Znope"),
    ("_GLOBAL__sub_D__Z3foov", "_GLOBAL__sub_D__Z3foov"),
    ("_ZThn16_NSdD0Ev", "std::basic_iostream::~basic_iostream"),
    ("_ZThn8_N13FtraceServiceD0Ev", "FtraceService::~FtraceService"),
    ("_ZTv0_n24_NSoD1Ev", "std::basic_ostream::~basic_ostream"),
    ("_ZTch0_v0_n24_N1D1fEv", "D::f"),
    ("_ZTcv0_n24_h8_N1D1fEv", "D::f"),
    ("_ZGTtNSt11range_errorD1Ev", "std::range_error::~range_error"),
    ("_ZGTtThn16_N1A1fEv", "A::f"),
    ("_ZGVZ4mainE1x", "__guard_variable__main::x"),
    ("_ZGVNSt7__cxx117collateIcE2idE", "__guard_variable__std::__cxx11::collate::id"),
    ("_ZTWN6__xray7RunningE", "TLS_wrap::__xray::Running"),
    ("_ZTHN2ns1xE", "TLS_init::ns::x"),
    ("_ZTV3foo", "__vtable__foo"),
    ("_ZTISt12system_error", "__typeinfo_name__std::system_error"),
    ("_ZNSi6ignoreEl@@GLIBCXX_3.4.5", "std::basic_istream::ignore"),
    ("_ZNSs4nposE", "std::basic_string<>::npos"),
    ("_ZNSsC1ERKSs", "std::basic_string<>::basic_string<>"),
    ("_ZNSbIwSt11char_traitsIwESaIwEE4nposE", "std::basic_string::npos"),
    ("_ZNSolsEi", "std::basic_ostream::operator<<"),
    ("_ZNSt3setISsSt4lessISsESaISsEE5eraseB5cxx11Ev", "std::set::erase::cxx11"),
    ("_ZTh", "_ZTh"),
    ("_ZThn8", "_ZThn8"),
    ("_ZTc0_N1A1fEv", "_ZTc0_N1A1fEv"),
    ("_ZGX3foo", "_ZGX3foo"),
    ("_Z" + "Th0_" * 1500, "_Z" + "Th0_" * 1500),
    ("_ZN3foo", "_ZN3foo"),
    ("_Z" + "N" * 5000, "_Z" + "N" * 5000),
])  # fmt: skip
def test_demangled_names(mangled, name):
    assert demangled(mangled) == name
