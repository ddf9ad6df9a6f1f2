"""Writes lorem_ipsum_full.txt: filler text in made-up words that sound like Latin.

Run it in this folder; it gives the same bytes everywhere, since it draws from its own generator.
The words are put together from syllables, so the text says nothing and is taken from nowhere.
"""

SIZE = 92_000

ONSETS = "b c d f g l m n p r s t v qu br cr fl gr pl pr sp st tr".split() + [""]
VOWELS = "a e i o u a e i u ae au".split()
CODAS = ["", "", "", "m", "n", "r", "s", "l", "x"]
ENDINGS = "us um a ae is em or ur it at unt ere ibus orum".split()

state = 20_240_501


def below(count):
    """A number from 0 up to count - 1 (a linear congruential generator, constants of Knuth's MMIX)."""
    global state
    state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
    return (state >> 33) % count


def pick(items):
    return items[below(len(items))]


def word():
    parts = [pick(ONSETS) + pick(VOWELS) + pick(CODAS) for _ in range(below(3))]
    parts.append((pick(ONSETS) or "v") + pick(ENDINGS))
    return "".join(parts)


def sentence(words):
    chosen = [pick(words) for _ in range(5 + below(11))]
    if len(chosen) > 8:
        chosen[3 + below(4)] += ","
    text = " ".join(chosen)
    return text[0].upper() + text[1:] + pick(["."] * 8 + ["?", "!"])


def main():
    words = sorted({word() for _ in range(900)})
    paragraphs = []
    length = 0
    while length < SIZE:
        paragraph = " ".join(sentence(words) for _ in range(4 + below(6)))
        paragraphs.append(paragraph)
        length += len(paragraph) + 2
    with open("lorem_ipsum_full.txt", "w", encoding="ascii", newline="\n") as out:
        out.write("\n\n".join(paragraphs) + "\n")


main()
