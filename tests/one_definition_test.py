"""A type has one definition. Two of one name in one namespace are merged by the linker where a program has both, without
a word: members of the one then run over objects of the other.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMESPACE = re.compile(r"\s*(?:inline )?namespace\s*([\w:]*)\s*\{")
# Neither a nested type's definition outside of its owner (A::B) nor a specialization (A<B>).
TYPE = re.compile(r"\s*(?:template.*>\s*)?(?:struct|class|enum class|enum|union)\s+(\w+)\s*(?:final\s*)?(?::[^:].*)?\{")


def definitions(text):
    """Names of types in named namespaces."""
    depth, open_namespaces = 0, []
    for line in text.splitlines():
        line = re.sub(r'//.*|"(\\.|[^"])*"|\'(\\.|[^\'])\'', "", line)
        namespace = NAMESPACE.match(line)
        found = TYPE.match(line)
        if namespace:
            open_namespaces.append((namespace.group(1), depth))
        elif found and open_namespaces and depth == open_namespaces[-1][1] + 1:
            names = [name for name, _ in open_namespaces]
            if "" not in names:
                yield "::".join([*names, found.group(1)])
        depth += line.count("{") - line.count("}")
        while open_namespaces and depth <= open_namespaces[-1][1]:
            open_namespaces.pop()


def repeated(texts):
    """Names that several texts define, with the names of these."""
    files = collections.defaultdict(list)
    for name, text in texts.items():
        for defined in set(definitions(text)):
            files[defined].append(name)
    return {name: sorted(where) for name, where in files.items() if len(where) > 1}


def test_finder():
    one = "namespace a::b {\n\nstruct Same {\n  int x;\n};\n\n}  // namespace a::b\n"
    assert list(definitions(one)) == ["a::b::Same"]
    assert repeated({"1": one, "2": one}) == {"a::b::Same": ["1", "2"]}
    assert not repeated({"1": one, "2": one.replace("a::b", "a")})
    assert not repeated({"1": one, "2": one.replace("struct Same", "struct Same::Part")})
    assert not repeated({"1": one, "2": "namespace a::b {\nnamespace {\nstruct Same {\n};\n}\n}\n"})


def main():
    test_finder()
    files = [path for folder in ("src", "include", "cli") for path in (ROOT / folder).rglob("*")
             if path.suffix in {".h", ".cuh", ".cpp", ".cu"}]
    found = repeated({str(path.relative_to(ROOT)): path.read_text() for path in files})
    for name, where in sorted(found.items()):
        print(f"{name} is defined in {', '.join(where)}")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
