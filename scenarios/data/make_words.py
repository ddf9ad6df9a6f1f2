"""Writes variable_words.txt: names that sensors and variables might have, one a line.

Run it in this folder; it gives the same bytes everywhere. The words are plain English, put together here.
"""

PLACES = "inlet outlet boiler cabin engine floor north panel pump roof".split()
QUANTITIES = "current flow humidity load noise power pressure speed temperature voltage".split()

with open("variable_words.txt", "w", encoding="ascii", newline="\n") as out:
    for place in PLACES:
        for quantity in QUANTITIES:
            out.write(f"{place}_{quantity}\n")
