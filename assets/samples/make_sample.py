#!/usr/bin/env python3
"""Draws gravity-sample.pdf: two pages in two columns, with everything that the program should get right on a good day.

    pip install reportlab && apt-get install fonts-liberation2
    python3 make_sample.py [OUT.pdf]

Text, figure and table were written for this project and are under its licence (MIT). The embedded fonts are subsets of
Liberation Serif and Liberation Sans 2, (c) 2012 Red Hat, under the SIL Open Font License 1.1. The output is the same
byte for byte on every run.
"""

import sys
from pathlib import Path

from reportlab.lib.pagesizes import LETTER
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

FONTS = Path("/usr/share/fonts/truetype/liberation2")
SERIF, SERIF_BOLD, SANS, SANS_BOLD = "LiberationSerif-Regular", "LiberationSerif-Bold", "LiberationSans-Regular", "LiberationSans-Bold"

WIDTH, HEIGHT = LETTER
MARGIN, GUTTER = 58, 24
COLUMN = (WIDTH - 2 * MARGIN - GUTTER) / 2
TOP, BOTTOM = HEIGHT - 66, 62
SIZE, LEADING = 11, 14.6

# Where words may be broken at a line's end.
BREAKS = {
    word.replace("-", ""): word.split("-")
    for word in """ac-cel-er-ates ac-cel-er-a-tion ap-ples as-tron-o-mers be-cause be-tween dif-fer-ent dis-tance
    dis-tances ex-act-ly ex-per-i-ment ex-per-i-ments grav-i-ty heav-i-er heavy in-stead in-ter-vals mea-sure mea-sured
    mo-ment moun-tain noth-ing plan-et plan-ets pen-du-lum quick-ly re-mained sec-ond sec-onds slow-ly some-thing
    sur-face tow-er with-out won-der-ful-ly lean-ing philo-s-o-phers no-tice ta-ble""".split()
}

TITLE = "What Falls, and How Fast"
RUNNING_HEAD = "A short note on gravity"


class Flow:
    """Two columns filled from top to bottom, page after page. `y` is where the next thing begins."""

    def __init__(self, canvas):
        self.canvas, self.page = canvas, 0
        self.next_page()

    @property
    def x(self):
        return MARGIN + self.column * (COLUMN + GUTTER)

    def next_page(self):
        if self.page:
            self.canvas.showPage()
        self.page += 1
        self.column, self.top, self.y = 0, TOP, TOP
        self.canvas.setFont(SANS, 8)
        self.canvas.drawString(MARGIN, HEIGHT - 44, RUNNING_HEAD)
        self.canvas.drawCentredString(WIDTH / 2, 36, str(self.page))

    def room_for(self, height):
        """Goes on to the next column, or page, when this one has no such room left."""
        if self.y - height < BOTTOM:
            if self.column == 1:
                self.next_page()
            else:
                self.column, self.y = 1, self.top

    def title(self, text):
        self.canvas.setFont(SERIF_BOLD, 21)
        self.canvas.drawString(MARGIN, self.y - 16, text)
        self.top = self.y = self.y - 50

    def heading(self, text):
        self.room_for(29 + 2 * LEADING)
        self.y -= 8 if self.y < self.top else 0
        self.canvas.setFont(SANS_BOLD, 12)
        self.canvas.drawString(self.x, self.y - 10, text)
        self.y -= 21

    def paragraph(self, text, indent=0, mark=None, gap=6.5):
        """Justified text; goes on in the next column when this one is full."""
        for number, (words, last) in enumerate(broken(text, COLUMN - indent)):
            self.room_for(LEADING)
            baseline = self.y - 10
            if mark and number == 0:
                self.canvas.setFont(SERIF, SIZE)
                self.canvas.drawString(self.x + indent - 13, baseline, mark)
            self.canvas.saveState()  # word space outlives its text object
            line = self.canvas.beginText(self.x + indent, baseline)
            line.setFont(SERIF, SIZE)
            content = " ".join(words)
            if not last:
                line.setWordSpace((COLUMN - indent - width(content)) / max(len(words) - 1, 1))
            line.textOut(content)
            self.canvas.drawText(line)
            self.canvas.restoreState()
            self.y -= LEADING
        self.y -= gap

    def bullets(self, items):
        for item in items:
            self.paragraph(item, indent=15, mark="\u2022", gap=2.5)
        self.y -= 4

    def numbers(self, items):
        for number, item in enumerate(items, 1):
            self.paragraph(item, indent=15, mark=f"{number}.", gap=2.5)
        self.y -= 4

    def caption(self, text):
        for words, _ in broken(text, COLUMN, SANS, 8.5):
            self.canvas.setFont(SANS, 8.5)
            self.canvas.drawString(self.x, self.y - 9, " ".join(words))
            self.y -= 11.5
        self.y -= 9

    def figure(self):
        """A ball dropped beside a ball thrown, at equal intervals: distances fallen grow as 1, 4, 9, 16."""
        self.room_for(134 + 40)
        canvas, height, left = self.canvas, 134, self.x
        top = self.y - 6
        canvas.setFillGray(0.93)
        canvas.rect(left, top - height, COLUMN, height, stroke=0, fill=1)
        unit = (height - 30) / 16
        canvas.setStrokeGray(0.6)
        canvas.setDash(2, 2)
        for step in range(5):
            y = top - 14 - unit * step * step
            canvas.line(left + 30, y, left + 30 + 45 * step, y)
        canvas.setDash()
        for step in range(5):
            y = top - 14 - unit * step * step
            canvas.setFillGray(0.15)
            canvas.circle(left + 30, y, 3.2, stroke=0, fill=1)
            canvas.setFillGray(0.45)
            canvas.circle(left + 30 + 45 * step, y, 3.2, stroke=0, fill=1)
        canvas.setFillGray(0)
        canvas.setStrokeGray(0)
        self.y = top - height - 6

    def table(self, rows, row_height=17):
        """A ruled table; a cell is its text, or (text, columns covered)."""
        self.room_for(len(rows) * row_height + 16)
        canvas, cell_width = self.canvas, COLUMN / 4
        top = self.y - 4
        canvas.setLineWidth(0.7)
        canvas.line(self.x, top, self.x + COLUMN, top)
        for number, row in enumerate(rows):
            row_top, column = top - number * row_height, 0
            for cell in row:
                text, span = cell if isinstance(cell, tuple) else (cell, 1)
                x = self.x + column * cell_width
                canvas.line(x, row_top, x, row_top - row_height)
                canvas.setFont(SERIF_BOLD if number == 0 else SERIF, 10)
                canvas.drawCentredString(x + span * cell_width / 2, row_top - 12, text)
                column += span
            canvas.line(self.x + COLUMN, row_top, self.x + COLUMN, row_top - row_height)
            canvas.line(self.x, row_top - row_height, self.x + COLUMN, row_top - row_height)
        self.y = top - len(rows) * row_height - 12


def width(text, font=SERIF, size=SIZE):
    return pdfmetrics.stringWidth(text, font, size)


def broken(text, limit, font=SERIF, size=SIZE):
    """Lines as (words, whether it is the paragraph's last), filled greedily, words broken where BREAKS allows."""
    lines, line = [], []
    words = text.split()
    for number, word in enumerate(words):
        if width(" ".join([*line, word]), font, size) <= limit:
            line.append(word)
            continue
        last = number == len(words) - 1
        head, rest = ("", word) if last else hyphenated(word, lambda part: width(" ".join([*line, part]), font, size) <= limit)
        if head:
            line.append(head)
        lines.append((line, False))
        line = [rest]
    return [*lines, (line, True)]


def hyphenated(word, fits):
    """The longest beginning of `word` that fits with its hyphen, and the rest."""
    bare = word.rstrip(",.;:")
    parts, tail = BREAKS.get(bare, [word]), word[len(bare):]
    for count in range(len(parts) - 1, 0, -1):
        head = "".join(parts[:count]) + "-"
        if fits(head):
            return head, "".join(parts[count:]) + tail
    return "", word


def fill(flow):
    flow.title(TITLE)
    flow.paragraph(
        "Hold a stone in one hand and a feather in the other, and let go. The stone wins. For two thousand years this was "
        "proof enough that heavy things fall faster than light ones, and few philosophers thought it worth a second look."
    )
    flow.paragraph(
        "Galileo looked again. He asked what would happen if a heavy stone were tied to a light one. Should the light stone "
        "hold the heavy one back, or should the pair fall faster, because together they weigh more? Both answers follow "
        "from the old rule, and they cannot both be true. So the rule must be wrong. Without air, everything falls alike."
    )
    flow.heading("Slow motion")
    flow.paragraph(
        "A falling stone is too quick for the eye, and in the year 1604 there was no clock to time it. Galileo let "
        "a ball roll down a gentle slope instead, which slows the fall but keeps its law. In the first interval "
        "the ball rolled one length, in the next three, then five, then seven. Added up, the distances "
        "are the square numbers, as the figure shows."
    )
    flow.figure()
    flow.caption("Figure 1. Two balls at equal intervals of time. One was dropped and one was thrown, but they fall together.")
    flow.paragraph(
        "The thrown ball is the wonderful part. It moves sideways at a steady speed, as if there were no fall at all, and "
        "it falls as if there were no throw. The two motions do not disturb each other. Every fountain draws this curve in "
        "water, and every child who throws a ball at a wall has learned it by heart without a single word of mathematics."
    )
    flow.heading("The Moon is falling too")
    flow.paragraph(
        "Newton asked how far up the pull of the Earth reaches. An apple falls from a tree, and a stone falls from the "
        "top of a mountain. Why should it end there? Throw the stone from the mountain faster and it lands farther away. "
        "Throw it fast enough and the ground curves away below it as quickly as it falls. It never lands. It has become a moon."
    )
    flow.paragraph("From this one thought came three that still hold:")
    flow.bullets(
        [
            "Every body pulls on every other body, the apple on the Earth no less than the Earth on the apple.",
            "Twice the distance means a quarter of the pull.",
            "The same law holds for the apple, the tides and the planets, and nobody has to push the Moon along.",
        ]
    )
    flow.paragraph(
        "It took another hundred years to measure the pull between two things that fit into a room. In 1798 Henry Cavendish "
        "hung two small balls of lead on a wire and watched from outside, through a telescope, how they crept towards two "
        "large ones. The force was less than the weight of a grain of sand, and from it he knew the weight of the Earth."
    )
    flow.heading("The same fall elsewhere")
    flow.paragraph(
        "The pull at the surface depends on how much a planet weighs and how large it is. On the Moon a hammer falls slowly "
        "enough to watch. In 1971 an astronaut dropped one there beside a feather, and they reached the dust together."
    )
    flow.paragraph("The table gives the fall of a stone from a roof ten metres high, leaving out the air.")
    flow.table(
        [
            ["Body", "Gravity", ("Fall from 10 m", 2)],
            ["", "m/s/s", "seconds", "m/s"],
            ["Moon", "1.62", "3.51", "5.69"],
            ["Mars", "3.71", "2.32", "8.61"],
            ["Earth", "9.81", "1.43", "14.0"],
            ["Jupiter", "24.8", "0.90", "22.3"],
        ]
    )
    flow.paragraph(
        "Jupiter has no roof to fall from, but the numbers are right at the top of its clouds. A stone there reaches the "
        "speed of a fast car in a little less than one second."
    )
    flow.heading("Measure the pull at home")
    flow.paragraph("All you need is a thread, a small weight and a watch. Nothing is left to luck:")
    flow.numbers(
        [
            "Tie the weight to the thread and hang it from a door frame, so that it swings freely.",
            "Measure the length from the door frame to the middle of the weight. One metre is a good choice.",
            "Pull it a hand to the side, let go, and time ten full swings. Divide by ten.",
            "Multiply the length by 39.5 and divide twice by the time of one swing.",
        ]
    )
    flow.paragraph(
        "With one metre of thread a swing takes almost exactly two seconds, and the answer comes out close to 9.8. It is the "
        "same number as in the table above, and you have measured it with a piece of string. A long thread is better than a "
        "short one, because a small mistake of the hand then matters less."
    )
    flow.heading("What is left to ask")
    flow.paragraph(
        "Newton could say how strong the pull is, but not what it is. He refused to guess. Einstein gave an answer in 1915: "
        "nothing pulls at all. Mass bends space and time, and a falling stone goes straight ahead in a bent world. A person "
        "in free fall feels no weight, just as the stone in your hand feels light in the moment when you let it go."
    )
    flow.paragraph(
        "This second view explains what the first one could not: why Mercury turns a little too far on each round, why "
        "light bends near the Sun, and why a clock in the cellar runs slower than one under the roof. The maps in your "
        "phone would drift by miles each day if their makers had not read Einstein."
    )
    flow.paragraph(
        "Nobody has yet brought this view together with the other great one, which tells how the smallest things behave. "
        "Where both are needed, inside a black hole or at the very beginning, our sentences break off in the middle."
    )
    flow.paragraph(
        "And still the old experiment remains the best one. Take a stone and a feather, put them in a glass tube, pump out the "
        "air, and turn the tube over. It is hard not to smile when they land side by side."
    )


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("gravity-sample.pdf"))
    for name in (SERIF, SERIF_BOLD, SANS, SANS_BOLD):
        pdfmetrics.registerFont(TTFont(name, FONTS / f"{name}.ttf"))
    canvas = Canvas(out, pagesize=LETTER, invariant=1, pageCompression=1)
    canvas.setTitle(TITLE)
    canvas.setAuthor("GravityOCR Desktop")
    fill(Flow(canvas))
    canvas.save()


if __name__ == "__main__":
    main()
