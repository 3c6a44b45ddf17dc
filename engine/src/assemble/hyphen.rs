//! What stands between two lines of one paragraph: a blank, nothing, or a hyphen that is taken away.

use std::collections::HashSet;

/// The words of a text that did not cross a line end. They tell whether a hyphen at a line end belongs to the word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary(HashSet<String>);

impl Vocabulary {
    /// Collects the words of these lines.
    pub(crate) fn new<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = HashSet::new();
        for line in lines {
            words.extend(line.split_whitespace().map(|word| bare(word).to_lowercase()).filter(|word| word.len() > 3));
        }
        Self(words)
    }

    fn contains(&self, word: &str) -> bool {
        self.0.contains(&word.to_lowercase())
    }

    /// Whether at least two words are there that no French page goes without and other languages do not have.
    fn is_french(&self) -> bool {
        let frequent = ["dans", "pour", "avec", "sont", "cette", "nous", "mais", "être", "comme", "leur"];
        frequent.iter().filter(|word| self.contains(word)).count() >= 2
    }
}

/// How two neighbouring lines are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    Blank,
    Close,
    DropHyphen,
}

/// Appends the text of the next line to a paragraph, repairing a word that was hyphenated at the line end.
pub(crate) fn append(paragraph: &mut String, line: &str, words: &Vocabulary) {
    let line = line.trim();
    paragraph.truncate(paragraph.trim_end().len());
    if line.is_empty() {
        return;
    }
    match joint(paragraph, line, words) {
        Joint::Blank => paragraph.push(' '),
        Joint::Close => {}
        Joint::DropHyphen => {
            paragraph.pop();
        }
    }
    paragraph.push_str(line);
}

/// Joins what stood side by side on one line.
pub(crate) fn append_strip(line: &mut String, strip: &str) {
    let strip = strip.trim();
    if let (Some(last), Some(first)) = (line.chars().last(), strip.chars().next())
        && !closes_up(last, first)
    {
        line.push(' ');
    }
    line.push_str(strip);
}

/// Whether the characters belong to scripts that put no blanks between words.
pub(crate) fn closes_up(last: char, first: char) -> bool {
    (is_unspaced(last) && is_unspaced(first)) || is_wide_punctuation(last) || is_wide_punctuation(first)
}

/// Han, kana, bopomofo, Thai, Lao, Khmer, Myanmar. Not Hangul: Korean puts blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{303F}' | '\u{3041}'..='\u{312F}' | '\u{31A0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}'
        | '\u{0E01}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}')
}

/// Ideographic and full-width punctuation: it carries its own space.
fn is_wide_punctuation(c: char) -> bool {
    matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301F}' | '\u{FF01}'..='\u{FF0F}'
        | '\u{FF1A}'..='\u{FF20}' | '\u{FF3B}'..='\u{FF40}' | '\u{FF5B}'..='\u{FF65}')
}

fn joint(paragraph: &str, line: &str, words: &Vocabulary) -> Joint {
    let (Some(last), Some(first)) = (paragraph.chars().last(), line.chars().next()) else { return Joint::Close };
    match last {
        '\u{AD}' => Joint::DropHyphen,
        '-' | '\u{2010}' => hyphen(paragraph, line, last, first, words),
        // Non-breaking hyphen, maqaf, em dash and slash close up unless they stand alone.
        '\u{2011}' | '\u{05BE}' | '\u{2014}' | '/' if ends_in_word(paragraph, last) && first.is_alphanumeric() => {
            if last == '/' && is_address(last_token(paragraph)) && !is_code(first_token(line)) {
                Joint::Blank // A whole address, then the sentence goes on.
            } else {
                Joint::Close
            }
        }
        '\u{2013}' if ends_in_digit(paragraph, last) && first.is_ascii_digit() => Joint::Close,
        '_' | '=' | '&' | '?' | '%' | '#' if is_address(last_token(paragraph)) => Joint::Close,
        _ if closes_up(last, first) => Joint::Close,
        _ => Joint::Blank,
    }
}

fn hyphen(paragraph: &str, line: &str, last: char, first: char, words: &Vocabulary) -> Joint {
    let stem = &paragraph[..paragraph.len() - last.len_utf8()];
    let Some(before) = stem.chars().last() else { return Joint::Blank };
    // A dash between blanks, a double hyphen, or "(-".
    if !before.is_alphanumeric() {
        return if before == '-' || before.is_whitespace() { Joint::Blank } else { Joint::Close };
    }
    let (head, tail) = (last_token(stem), first_token(line));
    let tail_word = bare(tail);
    if is_suspended(line, words) && !words.contains(&format!("{}{tail_word}", bare(head))) {
        return Joint::Blank;
    }
    if !first.is_lowercase() {
        return Joint::Close; // Capitals, digits, brackets: Jean-Paul, COVID-19.
    }
    if is_code(head) || is_code(tail) || bare(head).contains(['\'', '\u{2019}']) {
        return Joint::Close;
    }
    let head_word = head.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or(head);
    let tail_start = tail_word.split(|c: char| !c.is_alphabetic()).next().unwrap_or(tail_word);
    let letters = head_word.chars().count();
    // X-axis, e-mail, DNA-based: nobody divides words like that.
    if letters < 2 || head_word.chars().all(char::is_uppercase) {
        return Joint::Close;
    }
    // Has the text shown how it writes this word?
    let whole = bare(head);
    if words.contains(&format!("{whole}{tail_word}")) || words.contains(&format!("{head_word}{tail_start}")) {
        return Joint::DropHyphen;
    }
    if words.contains(&format!("{whole}-{tail_word}")) || words.contains(&format!("{head_word}-{tail_start}")) {
        return Joint::Close;
    }
    if is_compound(&head_word.to_lowercase(), tail_start, letters, tail_word.contains('-')) {
        return Joint::Close;
    }
    Joint::DropHyphen
}

/// Whether the hyphen before this line stands for a word left out: "pre- and post-war", "Haupt- und Nebensatz".
///
/// Conjunctions that also end words ("plan-et", "col-or", "toma-to") count only where the second hyphen is in sight or,
/// the French ones, in a French text.
fn is_suspended(line: &str, words: &Vocabulary) -> bool {
    let mut tokens = line.split_whitespace();
    let (conjunction, next) = (tokens.next().unwrap_or_default(), tokens.next());
    match conjunction {
        "and" | "und" | "oder" | "bzw." | "och" => true,
        "et" | "ou" => words.is_french() || next.is_some_and(has_hyphen),
        "or" | "nor" | "to" => next.is_some_and(has_hyphen),
        _ => false,
    }
}

/// Whether a word has a hyphen in it or at its end.
fn has_hyphen(token: &str) -> bool {
    let word = token.trim_start_matches(|c: char| !c.is_alphanumeric());
    word.char_indices().any(|(at, c)| matches!(c, '-' | '\u{2010}') && at > 0)
}

/// First parts that mostly stand with a hyphen in English and seldom begin a closed word.
const COMPOUND_HEADS: [&str; 28] = [
    "self", "non", "well", "all", "half", "quasi", "pseudo", "cross", "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "twenty", "thirty", "forty", "fifty", "zero", "single", "double", "high", "state",
    "mother", "user",
];

/// Last parts that stand with a hyphen after a whole word.
const COMPOUND_TAILS: [&str; 17] = [
    "based",
    "only",
    "sensitive",
    "specific",
    "dependent",
    "independent",
    "oriented",
    "friendly",
    "driven",
    "defined",
    "level",
    "off",
    "related",
    "separated",
    "free",
    "safe",
    "aware",
];

/// Beginnings of closed words that would otherwise look like whole words before a `COMPOUND_TAILS` entry.
const PREFIXES: [&str; 13] =
    ["inter", "over", "under", "super", "hyper", "anti", "auto", "counter", "trans", "ultra", "multi", "semi", "micro"];

/// What goes on a word that only looks like a `COMPOUND_HEADS` entry: "cross-ing", "seven-teen", "user-name".
const SUFFIXES: [&str; 36] = [
    "ing", "ings", "ed", "er", "ers", "es", "est", "ly", "ness", "able", "ment", "ments", "ful", "less", "ish", "teen",
    "ty", "th", "ths", "tieth", "fold", "light", "lights", "lighted", "way", "ways", "hood", "self", "ton", "tons",
    "nym", "nyms", "name", "names", "land", "over",
];

fn is_compound(head: &str, tail: &str, head_letters: usize, tail_has_hyphen: bool) -> bool {
    if COMPOUND_HEADS.contains(&head) {
        return !SUFFIXES.contains(&tail);
    }
    // English leaves at least three letters behind a division: "built-in", "set-up". (Others do not: "momen-to".)
    if matches!(tail, "in" | "up" | "on" | "by" | "at") && head_letters >= 3 {
        return true;
    }
    if head_letters >= 4 && COMPOUND_TAILS.contains(&tail) && !PREFIXES.contains(&head) {
        return true;
    }
    // "state-of-the-art" cut after its first part.
    tail_has_hyphen && matches!(tail, "of" | "in" | "to" | "by" | "and" | "the" | "on" | "at" | "up" | "or")
}

fn ends_in_word(paragraph: &str, last: char) -> bool {
    paragraph[..paragraph.len() - last.len_utf8()].chars().last().is_some_and(char::is_alphanumeric)
}

fn ends_in_digit(paragraph: &str, last: char) -> bool {
    paragraph[..paragraph.len() - last.len_utf8()].chars().last().is_some_and(|c| c.is_ascii_digit())
}

fn last_token(text: &str) -> &str {
    text.rsplit(char::is_whitespace).next().unwrap_or(text)
}

fn first_token(text: &str) -> &str {
    text.split(char::is_whitespace).next().unwrap_or(text)
}

/// A word without the punctuation around it.
fn bare(token: &str) -> &str {
    token.trim_matches(|c: char| !c.is_alphanumeric())
}

fn is_address(token: &str) -> bool {
    token.contains("://") || token.contains("www.") || token.contains('@')
}

/// Whether a token is an address, a path, an option, an identifier or code rather than a word.
fn is_code(token: &str) -> bool {
    let inner = bare(token);
    token.starts_with('-')
        || is_address(token)
        || inner.contains(['_', '\\', '=', '+', '#', '<', '>', '{', '}', '$', '%', '&'])
        || inner.chars().any(|c| c.is_ascii_digit())
        || has_inner_dot(inner)
        || token.starts_with('/')
        || has_inner_capital(inner)
}

/// `pages.tex` and `std::io`, but not the "e.g" left of "e.g.".
fn has_inner_dot(word: &str) -> bool {
    word.char_indices().any(|(at, c)| {
        matches!(c, '.' | ':')
            && at > 1
            && word[at + 1..].chars().next().is_some_and(|next| next.is_alphanumeric() || next == ':')
    })
}

/// `camelCase`, a sign of code.
fn has_inner_capital(word: &str) -> bool {
    word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(before: &str, after: &str) -> String {
        let mut paragraph = before.to_string();
        append(&mut paragraph, after, &Vocabulary::default());
        paragraph
    }

    #[test]
    fn divided_words_are_repaired() {
        for (before, after, expected) in [
            ("the recog-", "nition of text", "the recognition of text"),
            ("Recog-", "nition", "Recognition"),
            ("the recog\u{2010}", "nition", "the recognition"),
            ("the recog\u{AD}", "nition", "the recognition"),
            ("den einzelnen Einträ-", "gen in", "den einzelnen Einträgen in"),
            ("Praesent pla-", "cerat", "Praesent placerat"),
            ("self-specu-", "lative decoding", "self-speculative decoding"),
            ("the high-", "est value", "the highest value"),
            ("seven-", "teen", "seventeen"),
            ("a single-", "ton", "a singleton"),
            ("your user-", "name", "your username"),
            ("the multi-", "plication", "the multiplication"),
            ("an over-", "sensitive", "an oversensitive"),
            ("inter-", "dependent", "interdependent"),
            ("(under-", "standing)", "(understanding)"),
            ("at con-", "gue. Next", "at congue. Next"),
            ("how much a plan-", "et weighs and", "how much a planet weighs and"),
            ("the col-", "or of the sky", "the color of the sky"),
            ("a ripe toma-", "to and an onion", "a ripe tomato and an onion"),
            ("has tak-", "en the well-known road", "has taken the well-known road"),
        ] {
            assert_eq!(joined(before, after), expected);
        }
    }

    #[test]
    fn real_hyphens_stay() {
        for (before, after, expected) in [
            ("a well-", "known fact", "a well-known fact"),
            ("the self-", "speculative", "the self-speculative"),
            ("state-", "of-the-art", "state-of-the-art"),
            ("state-of-", "the-art", "state-of-the-art"),
            ("twenty-", "one", "twenty-one"),
            ("a lock-", "free queue", "a lock-free queue"),
            ("one-", "dimensional", "one-dimensional"),
            ("a built-", "in function", "a built-in function"),
            ("a rule-", "based one", "a rule-based one"),
            ("Jean-", "Paul", "Jean-Paul"),
            ("COVID-", "19 cases", "COVID-19 cases"),
            ("the X-", "axis", "the X-axis"),
            ("an e-", "mail", "an e-mail"),
            ("DNA-", "binding", "DNA-binding"),
            ("pages 12-", "15", "pages 12-15"),
            ("a 10-", "fold rise", "a 10-fold rise"),
            ("550e8400-e29b-", "41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
            ("550e8400-", "beef-41d4", "550e8400-beef-41d4"),
            ("https://example.org/some-", "page", "https://example.org/some-page"),
            ("use --no-", "color", "use --no-color"),
            ("4-eledpar-", "pages.tex", "4-eledpar-pages.tex"),
            ("my_module-", "name", "my_module-name"),
            ("non\u{2011}", "breaking", "non\u{2011}breaking"),
        ] {
            assert_eq!(joined(before, after), expected);
        }
    }

    #[test]
    fn dashes_and_suspended_hyphens_keep_their_blanks() {
        for (before, after, expected) in [
            ("he said -", "and left", "he said - and left"),
            ("he said --", "and left", "he said -- and left"),
            ("pre-", "and post-war", "pre- and post-war"),
            ("Haupt-", "und Nebensatz", "Haupt- und Nebensatz"),
            ("short-", "or long-term", "short- or long-term"),
            ("two-", "to three-fold", "two- to three-fold"),
            ("a word\u{2014}", "closed up", "a word\u{2014}closed up"),
            ("a word \u{2014}", "open", "a word \u{2014} open"),
            ("1990\u{2013}", "1995", "1990\u{2013}1995"),
            ("plain", "words", "plain words"),
            ("and/", "or", "and/or"),
            ("see https://example.org/", "and read", "see https://example.org/ and read"),
            ("https://example.org/", "a/b.html", "https://example.org/a/b.html"),
        ] {
            assert_eq!(joined(before, after), expected, "{before} + {after}");
        }
    }

    #[test]
    fn the_text_itself_tells_how_it_writes_a_word() {
        let words = Vocabulary::new(["the text-book says", "some email there"]);
        let mut kept = "a text-".to_string();
        append(&mut kept, "book, again", &words);
        assert_eq!(kept, "a text-book, again");
        let words = Vocabulary::new(["an island there"]);
        let mut conjunction = "an isl-".to_string();
        append(&mut conjunction, "and far", &words);
        assert_eq!(conjunction, "an island far");
        let words = Vocabulary::new(["pour être dans la photo"]);
        let mut french = "sous-".to_string();
        append(&mut french, "et surexposition", &words);
        assert_eq!(french, "sous- et surexposition");
        let words = Vocabulary::new(["the cross-country and crossword"]);
        let mut dropped = "a cross-".to_string();
        append(&mut dropped, "word", &words);
        assert_eq!(dropped, "a crossword");
    }

    #[test]
    fn scripts_without_blanks_close_up_and_others_do_not() {
        assert_eq!(joined("我们使用", "这个方法"), "我们使用这个方法");
        assert_eq!(joined("これは", "ペンです。"), "これはペンです。");
        assert_eq!(joined("使用，", "Rust"), "使用，Rust");
        assert_eq!(joined("使用", "Rust"), "使用 Rust");
        assert_eq!(joined("한국어 문장은", "띄어 쓴다"), "한국어 문장은 띄어 쓴다");
        assert_eq!(joined("ภาษา", "ไทย"), "ภาษาไทย");
        assert_eq!(joined("שלום", "עולם"), "שלום עולם");
        assert_eq!(joined("السلام", "عليكم"), "السلام عليكم");
    }

    #[test]
    fn empty_lines_add_nothing() {
        assert_eq!(joined("word", "  "), "word");
        assert_eq!(joined("", "word"), "word");
        assert_eq!(joined("-", "x"), "- x");
    }
}
