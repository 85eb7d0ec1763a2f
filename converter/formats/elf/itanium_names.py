"""The grammar of mangled C++ names: Itanium C++ ABI, 5.1 "External Names (a.k.a. Mangling)"."""

from __future__ import annotations

import re

from converter.limits import limit

_STANDARD = {
    "t": "std",
    "a": "std::allocator",
    "b": "std::basic_string",
    "s": "std::basic_string<>",
    "i": "std::basic_istream",
    "o": "std::basic_ostream",
    "d": "std::basic_iostream",
}
#: What the compiler makes of a class, a function or a variable, by the letters before its name.
_OF_TYPES = {
    "TV": "__vtable__",
    "TT": "__VTT__",
    "TI": "__typeinfo_name__",
    "TS": "__typeinfo__",
    "TF": "__typeinfo_fn__",
    "TJ": "__java_class__",
    "TC": "__construction_vtable__",
}
_OF_NAMES = {
    "TH": "TLS_init::",
    "TW": "TLS_wrap::",
    "GV": "__guard_variable__",
    "GR": "__ref_temp__",
}
#: Other entries of functions, which are called as these.
_ENTRIES = re.compile(r"T(?:h|(?=v)|c(?=[hv]))|GA|GT[tn]")
_OFFSET = re.compile(r"(?:h?n?[0-9]+_)|(?:vn?[0-9]+_n?[0-9]+_)")
_OPERATORS = {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "ps": "+", "ng": "-", "ad": "&", "de": "*",
    "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=",
    "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<",
    "rs": ">>", "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",", "pm": "->*", "pt": "->",
    "cl": "()", "ix": "[]", "qu": "?", "aw": " co_await",
}  # fmt: skip
_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...",
}  # fmt: skip
_BUILTIN_D = {
    "d": "decimal64", "e": "decimal128", "f": "decimal32", "h": "half", "i": "char32_t", "s": "char16_t", "a": "auto",
    "c": "decltype(auto)", "n": "std::nullptr_t", "u": "char8_t",
}  # fmt: skip
#: Operators whose operands are not just one or two expressions.
_SPECIAL_OPERATORS = frozenset(
    ("fp", "st", "at", "ti", "sr", "cl", "cv", "dt", "pt", "sZ", "sp", "qu")
)
#: The suffix of a type for a qualifying letter before it, as far as names show it.
_QUALIFIED = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile"}
_UNARY = frozenset({"ps", "ng", "ad", "de", "co", "nt", "pp", "mm", "sz", "az", "nx"})


class NotMangledError(ValueError):
    """A name does not follow the grammar, or the part of it that is supported."""


class NameParser:
    """The productions of the grammar; each returns the name that it represents, empty where it is never shown."""

    def __init__(self, name: str) -> None:
        self._text = name
        self._at = 2
        self._known: list[str] = []
        self._depth = 0

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _take(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise NotMangledError

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > limit("uftrace.pattern-nesting"):
            raise NotMangledError

    def _number(self) -> int:
        match = re.compile(r"[0-9]{1,6}").match(self._text, self._at)
        if match is None:
            raise NotMangledError
        self._at = match.end()
        return int(match[0])

    def encoding(self) -> str:
        """Parse a function's or variable's name; its type is ignored."""
        if self._peek() in ("T", "G"):
            return self._special()
        return self._name()

    def _special(self) -> str:
        code = self._peek(2)
        if code in _OF_TYPES:
            self._at += 2
            return _OF_TYPES[code] + self._type()
        if code in _OF_NAMES:
            self._at += 2
            return _OF_NAMES[code] + self._name()
        entry = _ENTRIES.match(self._text, self._at)
        if entry is None:
            raise NotMangledError
        self._at = entry.end()
        for _ in range({"T": 1, "Th": 1, "Tc": 2}.get(entry[0], 0)):
            offset = _OFFSET.match(self._text, self._at)
            if offset is None:
                raise NotMangledError
            self._at = offset.end()
        # A clone of a thunk is a thunk, too.
        self._enter()
        name = self.encoding()
        self._depth -= 1
        return name

    def _name(self) -> str:
        self._enter()
        if self._peek() == "N":
            name = self._nested()
        elif self._take("Z"):
            name = self._local()
        elif self._peek() == "S" and self._peek(2) != "St":
            name = self._substitution()
            if self._peek() == "I":
                self._template_arguments()
        else:
            name = "std::" if self._take("St") else ""
            name += self._unqualified("")
            if self._peek() == "I":
                self._known.append(name)
                self._template_arguments()
        self._depth -= 1
        return name

    def _local(self) -> str:
        function = self.encoding()
        while self._peek() not in ("E", ""):
            self._type()
        self._expect("E")
        if self._take("s"):
            self._discriminator()
            return function
        if self._take("d"):
            if self._peek() != "_":
                self._number()
            self._expect("_")
        entity = self._name()
        self._discriminator()
        return f"{function}::{entity}"

    def _discriminator(self) -> None:
        if self._take("__"):
            self._number()
            self._expect("_")
        elif self._peek() == "_" and self._peek(2)[1:].isdigit():
            self._at += 2

    def _nested(self) -> str:
        self._expect("N")
        while self._peek() in ("r", "V", "K", "R", "O") and self._peek():
            self._at += 1
        name = ""
        while not self._take("E"):
            if name:
                self._known.append(name)
            if self._take("St"):
                self._forget(name)
                name = "std"
                # Not a component that substitutions can refer to.
                name = f"std::{self._unqualified('')}"
            elif self._peek() == "S":
                self._forget(name)
                name = self._substitution()
                if self._peek() == "I":
                    self._template_arguments()
                elif self._peek() != "E":
                    following = self._component(name)
                    name = following
            elif self._peek() == "I":
                self._template_arguments()
            elif self._take("M"):
                self._forget(name)
            else:
                name = self._component(name)
        return name

    def _forget(self, name: str) -> None:
        if name:
            self._known.pop()

    def _component(self, name: str) -> str:
        if self._peek() == "T":
            self._template_parameter()
            return name or "T"
        if self._peek(2) in ("Dt", "DT"):
            self._type()
            return name or "decltype"
        part = self._unqualified(name)
        return f"{name}::{part}" if name else part

    def _unqualified(self, scope: str) -> str:
        self._take("L")
        character = self._peek()
        if character.isdigit():
            name = self._source_name()
        elif character == "C" and self._peek(2)[1:] in ("1", "2", "3", "4", "5", "I"):
            inherited = self._take("CI")
            self._at += 1 if inherited else 2
            name = scope.rpartition("::")[2]
            if inherited:
                self._type()
        elif character == "D" and self._peek(2)[1:] in ("0", "1", "2", "4", "5"):
            self._at += 2
            name = f"~{scope.rpartition('::')[2]}"
        elif self._take("Ul"):
            while not self._take("E"):
                self._type()
            name = f"$_{self._ordinal()}"
        elif self._take("Ut"):
            name = f"$_{self._ordinal()}"
        elif self._take("cv"):
            name = f"operator {self._type()}"
        elif self._take("li"):
            name = f'operator "" {self._source_name()}'
        elif self._peek(2) in _OPERATORS:
            name = f"operator{_OPERATORS[self._peek(2)]}"
            self._at += 2
        else:
            raise NotMangledError
        return name + self._tags()

    def _tags(self) -> str:
        """Parse the tags of a name, which are part of it."""
        tags = ""
        while self._take("B"):
            tags += f"::{self._source_name()}"
        return tags

    def _ordinal(self) -> int:
        number = 0 if self._peek() == "_" else self._number() + 1
        self._expect("_")
        return number

    def _source_name(self) -> str:
        length = self._number()
        name = self._peek(length)
        if len(name) < length or not name:
            raise NotMangledError
        self._at += length
        return name

    def _substitution(self) -> str:
        self._expect("S")
        character = self._peek()
        if character in _STANDARD and character:
            self._at += 1
            return _STANDARD[character] + self._tags()
        match = re.compile(r"([0-9A-Z]{0,4})_").match(self._text, self._at)
        if match is None:
            raise NotMangledError
        self._at = match.end()
        number = int(match[1], 36) + 1 if match[1] else 0
        if number >= len(self._known):
            raise NotMangledError
        return self._known[number]

    def _template_parameter(self) -> None:
        self._expect("T")
        if self._peek() != "_":
            self._number()
        self._expect("_")

    def _template_arguments(self) -> None:
        self._enter()
        self._expect("I")
        while not self._take("E"):
            self._template_argument()
        self._depth -= 1

    def _template_argument(self) -> None:
        if self._take("X"):
            self._expression()
            self._expect("E")
        elif self._peek() == "L":
            self._literal()
        elif self._take("J"):
            self._enter()
            while not self._take("E"):
                self._template_argument()
            self._depth -= 1
        else:
            self._type()

    def _literal(self) -> None:
        self._expect("L")
        if self._take("_Z"):
            self.encoding()
            while self._peek() not in ("E", ""):
                self._type()
        else:
            self._type()
            end = self._text.find("E", self._at)
            if end < 0:
                raise NotMangledError
            self._at = end
        self._expect("E")

    def _type(self) -> str:
        self._enter()
        name = self._type_inside()
        self._depth -= 1
        return name

    def _type_inside(self) -> str:
        character = self._peek()
        if character in _BUILTIN and character:
            self._at += 1
            return _BUILTIN[character]
        if character == "D":
            return self._type_of_d()
        if character and character in "rVKPROCG":
            self._at += 1
            name = self._type() + _QUALIFIED.get(character, "")
        elif self._take("F"):
            self._function_type()
            name = ""
        elif self._take("A"):
            self._array_bound()
            name = self._type()
        elif self._take("M"):
            self._type()
            name = self._type()
        elif self._take("U"):
            self._source_name()
            name = self._type()
        elif self._take("u"):
            name = self._source_name()
        elif character == "T":
            self._template_parameter()
            name = "T"
            if self._peek() == "I":
                self._known.append(name)
                self._template_arguments()
        elif character == "S" and self._peek(2) != "St":
            name = self._substitution()
            if self._peek() != "I":
                return name
            self._template_arguments()
        else:
            name = self._name()
        self._known.append(name)
        return name

    def _function_type(self) -> None:
        self._take("Y")
        while not self._take("E"):
            if self._peek(2) in ("RE", "OE"):
                self._at += 1
                continue
            self._type()

    def _array_bound(self) -> None:
        if self._peek().isdigit():
            self._number()
        elif self._peek() != "_":
            self._expression()
        self._expect("_")

    def _type_of_d(self) -> str:
        self._expect("D")
        character = self._peek()
        self._at += 1
        if character in _BUILTIN_D and character:
            return _BUILTIN_D[character]
        if character == "p":
            name = self._type()
        elif character in ("t", "T"):
            self._expression()
            self._expect("E")
            name = "decltype"
        elif character == "o":
            return self._type()
        else:
            raise NotMangledError
        self._known.append(name)
        return name

    def _expression(self) -> None:
        self._enter()
        code = self._peek(2)
        if self._peek() == "L":
            self._literal()
        elif self._peek() == "T":
            self._template_parameter()
        elif code in _SPECIAL_OPERATORS or code in _UNARY or code in _OPERATORS:
            self._at += 2
            self._operands(code)
        elif self._peek().isdigit():
            self._source_name()
            self._optional_arguments()
        else:
            raise NotMangledError
        self._depth -= 1

    def _operands(self, code: str) -> None:
        """Parse the operands of an operator."""
        if code == "fp":
            if self._peek() != "_":
                self._number()
            self._expect("_")
        elif code in ("st", "at", "ti"):
            self._type()
        elif code == "sr":
            self._type()
            self._unqualified("")
            self._optional_arguments()
        elif code == "cl":
            self._expressions()
        elif code == "cv":
            self._type()
            if self._take("_"):
                self._expressions()
            else:
                self._expression()
        elif code in ("dt", "pt"):
            self._expression()
            self._unqualified("")
        elif code in ("sZ", "sp"):
            self._expression()
        elif code == "qu":
            for _ in range(3):
                self._expression()
        elif code in _UNARY:
            self._take("_")
            self._expression()
        else:
            self._expression()
            self._expression()

    def _expressions(self) -> None:
        """Parse expressions up to their end."""
        while not self._take("E"):
            self._expression()

    def _optional_arguments(self) -> None:
        if self._peek() == "I":
            self._template_arguments()
