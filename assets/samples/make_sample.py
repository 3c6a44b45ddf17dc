#!/usr/bin/env python3
"""Draws gravity-sample.pdf, two pages in two columns, and writes gravity-sample.md, the Markdown it should be read as.

    pip install reportlab && apt-get install fonts-noto-core
    python3 make_sample.py [FOLDER]

Text, figure and table were written for this project and are under its licence (MIT). The embedded fonts are subsets of
Noto Serif Regular and Bold, (c) 2015 Google LLC, under the SIL Open Font License 1.1. The output is the same byte for
byte on every run.

The text is set line for line as it stands below. Face, size and words were chosen so that the bundled checkpoint reads
every line exactly; after a change of either, read the result again.
"""

import sys
from pathlib import Path

from reportlab.lib.pagesizes import LETTER
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

FONTS = Path("/usr/share/fonts/truetype/noto")
SERIF, BOLD = "NotoSerif-Regular", "NotoSerif-Bold"

WIDTH, HEIGHT = LETTER
PIXEL = 0.36  # of a page drawn at 200 dpi; all text stands on this grid, so a line looks the same wherever it stands
MARGIN, GUTTER, COLUMN = 160 * PIXEL, 67 * PIXEL, 655 * PIXEL
TOP, BOTTOM = HEIGHT - 183 * PIXEL, 58
SIZE, LEADING, INDENT, GAP = 10, 39 * PIXEL, 42 * PIXEL, 18 * PIXEL

TITLE = "How Fast Things Fall"
RUNNING_HEAD = "A short note on gravity"


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]


class Pages:
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
        self.canvas.setFont(SERIF, 8.5)
        self.canvas.drawString(MARGIN, HEIGHT - 122 * PIXEL, RUNNING_HEAD)
        self.canvas.drawString(846 * PIXEL, 100 * PIXEL, str(self.page))

    def room_for(self, height):
        """Goes on to the next column, or page, when this one has no such room left."""
        if self.y - height < BOTTOM:
            if self.column == 1:
                self.next_page()
            else:
                self.column, self.y = 1, self.top

    def title(self, text):
        self.canvas.setFont(BOLD, 20)
        self.canvas.drawString(MARGIN, self.y - 45 * PIXEL, text)
        self.top = self.y = self.y - 139 * PIXEL

    def heading(self, text):
        self.room_for(80 * PIXEL + 2 * LEADING)
        self.y -= 22 * PIXEL if self.y < self.top else 0
        self.canvas.setFont(BOLD, 12)
        self.canvas.drawString(self.x, self.y - 28 * PIXEL, text)
        self.y -= 58 * PIXEL

    def paragraph(self, text, indent=0, mark="", gap=GAP):
        """Justified text; goes on in the next column when this one is full."""
        content = lines(text)
        for number, line in enumerate(content):
            self.room_for(LEADING)
            baseline = self.y - 28 * PIXEL
            if number == 0:
                self.canvas.setFont(SERIF, SIZE)
                self.canvas.drawString(self.x, baseline, mark)
            self.canvas.saveState()  # word space outlives its text object
            drawn = self.canvas.beginText(self.x + indent, baseline)
            drawn.setFont(SERIF, SIZE)
            if number < len(content) - 1:
                drawn.setWordSpace((COLUMN - indent - pdfmetrics.stringWidth(line, SERIF, SIZE)) / line.count(" "))
            drawn.textOut(line)
            self.canvas.drawText(drawn)
            self.canvas.restoreState()
            self.y -= LEADING
        self.y -= gap

    def bullets(self, items):
        for item in items:
            self.paragraph(item, indent=INDENT, mark="\u2022", gap=7 * PIXEL)
        self.y -= 11 * PIXEL

    def numbers(self, items):
        for number, item in enumerate(items, 1):
            self.paragraph(item, indent=INDENT, mark=f"{number}.", gap=7 * PIXEL)
        self.y -= 11 * PIXEL

    def caption(self, text):
        self.canvas.setFont(SERIF, 9)
        for line in lines(text):
            self.canvas.drawString(self.x, self.y - 25 * PIXEL, line)
            self.y -= 33 * PIXEL
        self.y -= 25 * PIXEL

    def figure(self):
        """A ball dropped beside a ball thrown, at equal intervals: distances fallen grow as 1, 4, 9, 16."""
        height = 372 * PIXEL
        self.room_for(height + 150 * PIXEL)
        canvas, left = self.canvas, self.x
        top = self.y - 17 * PIXEL
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
        self.y = top - height - 17 * PIXEL

    def table(self, rows, row_height=42 * PIXEL):
        """A ruled table; a cell is its text, or (text, columns covered)."""
        self.room_for(len(rows) * row_height + 44 * PIXEL)
        canvas, cell_width = self.canvas, COLUMN / 4
        top = self.y - 11 * PIXEL
        canvas.setLineWidth(0.7)
        canvas.line(self.x, top, self.x + COLUMN, top)
        for number, row in enumerate(rows):
            row_top, column = top - number * row_height, 0
            for cell in row:
                text, span = cell if isinstance(cell, tuple) else (cell, 1)
                x = self.x + column * cell_width
                canvas.line(x, row_top, x, row_top - row_height)
                face = BOLD if number == 0 else SERIF
                left = x + (span * cell_width - pdfmetrics.stringWidth(text, face, SIZE)) / 2
                canvas.setFont(face, SIZE)
                canvas.drawString(round(left / PIXEL) * PIXEL, row_top - 31 * PIXEL, text)
                column += span
            canvas.line(self.x + COLUMN, row_top, self.x + COLUMN, row_top - row_height)
            canvas.line(self.x, row_top - row_height, self.x + COLUMN, row_top - row_height)
        self.y = top - len(rows) * row_height - 33 * PIXEL


class Markdown:
    """The same content as blocks of Markdown."""

    def __init__(self):
        self.blocks = []

    def __str__(self):
        return "\n\n".join(self.blocks) + "\n"

    @staticmethod
    def joined(text):
        """One line; a hyphen at a line's end goes, for the text has no word that needs it."""
        return " ".join(lines(text)).replace("- ", "")

    def title(self, text):
        self.blocks.append(f"# {text}")

    def heading(self, text):
        self.blocks.append(f"## {text}")

    def paragraph(self, text):
        self.blocks.append(self.joined(text))

    def bullets(self, items):
        self.blocks.append("\n".join(f"- {self.joined(item)}" for item in items))

    def numbers(self, items):
        self.blocks.append("\n".join(f"{number}. {self.joined(item)}" for number, item in enumerate(items, 1)))

    def caption(self, text):
        self.blocks.append(f"*{self.joined(text)}*")

    def figure(self):
        self.blocks.append("<!-- figure on page 1 -->")

    def table(self, rows):
        out = ["<table>"]
        for number, row in enumerate(rows):
            tag = "th" if number == 0 else "td"
            cells = [(cell, "") if isinstance(cell, str) else (cell[0], f' colspan="{cell[1]}"') for cell in row]
            out.append("<tr>" + "".join(f"<{tag}{span}>{text}</{tag}>" for text, span in cells) + "</tr>")
        self.blocks.append("\n".join([*out, "</table>"]))


def write(to):
    to.title(TITLE)
    to.paragraph(
        """
        Hold a stone in one hand and a feather in the
        other, and let them go. The stone gets there first.
        For many centuries this was taken as proof that
        heavy things fall faster than light ones, and few
        people took a second look.
        """
    )
    to.paragraph(
        """
        Then Galileo came. He asked what would happen
        if a heavy stone were tied to a light one. Should
        the light stone hold the heavy one back, or would
        the pair fall faster, because the two are heavier
        together? Both answers follow from the old rule,
        and they cannot both be correct. So the rule must
        be wrong. Without air, all bodies fall together.
        """
    )
    to.heading("Slow motion")
    to.paragraph(
        """
        A falling stone is too fast for the eye, and in 1604
        there was no good clock to time it. So Galileo let
        a small ball run down a slope instead, which
        slows the motion but keeps its law. In the first
        second the ball moved one step, in the next three,
        then five, then seven. Added up, the distances are
        the square numbers, as the figure shows.
        """
    )
    to.figure()
    to.caption(
        """
        Figure 1. Two balls, drawn at equal intervals of time.
        One was dropped and one was thrown, but they come
        down together.
        """
    )
    to.paragraph(
        """
        The second ball is the beautiful part. It moves to
        the right at a constant speed, as if there were no
        gravity at all, and it falls as if nobody had thrown
        it. The two motions do not interfere. Every jet of
        water draws this curve, and every child who has
        thrown a ball knows it without any mathematics.
        """
    )
    to.heading("Why the Moon stays up")
    to.paragraph(
        """
        Newton asked how far up the force reaches. An
        apple comes down from a tree, and a stone drops
        from the top of a mountain. Why should it end
        there? Throw the stone harder, and it lands at
        a greater distance. Throw it fast enough, and the
        ground curves away below it as quickly as it falls.
        It never touches the ground. It is now in orbit.
        """
    )
    to.paragraph(
        """
        From this came three rules that hold to this day:
        """
    )
    to.bullets(
        [
            """
            Every body attracts every other body, and the
            apple attracts the Earth as well.
            """,
            """
            The force falls with the square of the distance.
            """,
            """
            The same law holds for an apple, the tides and
            the stars, and nobody has to push them along.
            """,
        ]
    )
    to.paragraph(
        """
        This made the planets simple. The more distant a
        planet is from the Sun, the more slowly it moves:
        Mercury needs 88 days for one round, the Earth
        one year, Saturn almost thirty. Kepler had found
        the exact rule in 1618, from old tables. Newton
        needed a single page.
        """
    )
    to.paragraph(
        """
        It took many more years to measure the force
        between two things that fit into a room. In 1798
        Cavendish put two small balls of lead at the ends
        of a rod and watched from a distance how they
        moved toward two large ones. The force was less
        than the weight of a grain of sand, and from it he
        found the mass of the Earth.
        """
    )
    to.paragraph(
        """
        The same law explains the tides. The near side of
        the Earth is attracted a little more than its center,
        and the other side a little less. So the sea rises
        on both sides at the same time, and as the Earth
        turns, most coasts see high water twice a day.
        """
    )
    to.paragraph(
        """
        People in a space station are quite near to us. At
        their height, gravity is nearly as strong as on the
        ground. They float because they fall all the time,
        together with their station. Like the stone on the
        mountain, they miss the Earth on every round.
        """
    )
    to.heading("Gravity on other planets")
    to.paragraph(
        """
        The surface gravity depends on the mass and the
        size of a planet. The Moon has one sixth of ours.
        There is no air. In 1971 an American stood there
        with a hammer and a feather in his hands and let
        both go. They reached the dust together.
        """
    )
    to.paragraph(
        """
        The first number in the table is the speed that
        a falling stone gains in each second, in meters
        a second. The others give the time and the speed
        for a drop of ten meters, without air.
        """
    )
    to.table(
        [
            ["Body", "Gravity", ("Fall from 10 m", 2)],
            ["", "", "Time", "Speed"],
            ["Moon", "1.6", "3.5", "5.7"],
            ["Mars", "3.7", "2.3", "8.6"],
            ["Earth", "9.8", "1.4", "14"],
            ["Jupiter", "25", "0.9", "22"],
        ]
    )
    to.paragraph(
        """
        Jupiter has no roof to fall from, but the numbers
        are right at the top of its clouds. A stone there has
        the speed of a fast car in less than one second.
        """
    )
    to.heading("Why rain is slow")
    to.paragraph(
        """
        A drop of water that comes down from a cloud
        would reach us at the speed of an aircraft if noth-
        ing held it back. But the faster it falls, the more
        the air resists, and soon the two forces are equal.
        From then on, the speed stays the same.
        """
    )
    to.paragraph(
        """
        Large drops reach some eight meters a second,
        small ones much less, and fog hardly falls at all.
        A feather is like fog: it is light and has a large sur-
        face. So the old rule was not foolish. It was about
        the air and not gravity.
        """
    )
    to.heading("Measure gravity at home")
    to.paragraph(
        """
        All you need is a thread, a weight and a watch:
        """
    )
    to.numbers(
        [
            """
            Tie the weight to the thread and attach it to a
            door frame, so that it swings freely.
            """,
            """
            Measure the length from the top to the center
            of the weight. One meter is a good choice.
            """,
            """
            Pull it a little to the side, let it go, and time
            ten full swings. Divide the time by ten.
            """,
            """
            Multiply the length by 39.5 and divide by
            the time of one swing, two times.
            """,
        ]
    )
    to.paragraph(
        """
        With one meter of thread a swing takes almost
        exactly two seconds, and the answer is close to
        9.8. It is the same number as in the table above,
        and you have measured it with a piece of string.
        A long thread is better than a short one, because
        a small error of the hand then matters less.
        """
    )
    to.paragraph(
        """
        The same swing can regulate a clock. Huygens
        built the first one in 1656. In 1672 a French sci-
        entist carried such a clock from Paris to South
        America, and it was slow by more than two min-
        utes a day. The clock was good. Gravity is a little
        weaker there, because the Earth turns and is not
        quite round.
        """
    )
    to.heading("Open questions")
    to.paragraph(
        """
        Newton could compute how strong gravity is, but
        not what it is. He refused to guess. Einstein gave
        an answer in 1915: it is not a force at all. Mass
        bends space and time, and a falling stone moves
        straight ahead through it. A person in free fall
        feels no weight, just as the stone in your hand
        feels light in the moment when you let it go.
        """
    )
    to.paragraph(
        """
        This second view explains what the old one could
        not: why the orbit of Mercury turns a little, why
        light bends near the Sun, and why a clock in the
        cellar runs slower than one under the roof. The
        maps in your phone would drift by miles each
        day if nobody had taken this into account.
        """
    )
    to.paragraph(
        """
        In 2015 two detectors measured what he had pre-
        dicted in 1916: waves in space itself. Far away,
        two heavy black holes had joined over a billion
        years ago. The signal that arrived was tiny, less
        than the size of a proton over four kilometers.
        """
    )
    to.paragraph(
        """
        Nobody has yet brought this view together with
        the other great one, which tells how the smallest
        things behave. If both are needed, in a black hole
        or at the very beginning, we still have no answer.
        """
    )
    to.paragraph(
        """
        And still the old experiment is the best one. Take
        a stone and a feather, put them in a glass tube,
        remove the air, and turn the tube upside down. It
        is hard not to smile when they land side by side.
        """
    )


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name in (SERIF, BOLD):
        pdfmetrics.registerFont(TTFont(name, FONTS / f"{name}.ttf"))
    canvas = Canvas(str(folder / "gravity-sample.pdf"), pagesize=LETTER, invariant=1, pageCompression=1)
    canvas.setTitle(TITLE)
    canvas.setAuthor("GravityOCR Desktop")
    write(Pages(canvas))
    canvas.save()
    markdown = Markdown()
    write(markdown)
    (folder / "gravity-sample.md").write_text(str(markdown), encoding="utf-8")


if __name__ == "__main__":
    main()
