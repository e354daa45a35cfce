//! The one way out: whatever `dyno` prints on standard output and standard error passes here, so that text of strangers, whichever
//! command prints it, cannot move a cursor, clear a screen or turn a line around. Lints hold that nothing prints elsewhere. A view
//! that draws on the whole terminal, and the line of progress, clean what they draw.
//!
//! Not to be mistaken for the stream between runner and agents, which is `dyno-agent`'s.

use crate::exit::{Code, Result};
use dyno_report::{Columns, Notes, RenderOptions, clean, is_hidden, printable};
use miette::{Diagnostic, LabeledSpan, NamedSource, Report, SourceCode, SourceSpan};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::{ErrorKind, IsTerminal, Stderr, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

#[expect(
    clippy::disallowed_methods,
    reason = "here is where others are to come"
)]
fn stdout() -> Stdout {
    std::io::stdout()
}

#[expect(
    clippy::disallowed_methods,
    reason = "here is where others are to come"
)]
fn stderr() -> Stderr {
    std::io::stderr()
}

/// Whether standard output is a terminal.
pub(crate) fn has_stdout() -> bool {
    stdout().is_terminal()
}

/// Whether standard error is a terminal.
pub(crate) fn has_stderr() -> bool {
    stderr().is_terminal()
}

/// Whether somebody sits there who can be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && has_stderr()
}

/// How many columns standard output has, where that is known.
pub(crate) fn width() -> Option<usize> {
    rustix::termios::tcgetwinsize(stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}

/// How text for people is laid out on this standard output.
pub(crate) fn render_options() -> RenderOptions {
    let terminal = has_stdout().then(width);
    options_of(terminal, |name| std::env::var_os(name))
}

/// How text for people is laid out in a file.
pub(crate) fn file_options() -> RenderOptions {
    options_of(None, |name| std::env::var_os(name))
}

/// `terminal`: `None` where the output is none, else its width as far as that is known; where it is not, `COLUMNS` (POSIX.1-2024,
/// XBD 8.3) has it. Colours are left out for `NO_COLOR` (no-color.org), `CLICOLOR=0` (bixense.com/clicolors), and together with bars for a
/// terminal that is `dumb`.
fn options_of(
    terminal: Option<Option<usize>>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> RenderOptions {
    let columns = variable("COLUMNS").and_then(|text| text.to_str()?.parse::<usize>().ok());
    let columns = columns.filter(|columns| *columns > 0);
    let Some(width) = terminal else {
        return RenderOptions {
            width: columns,
            columns: Columns::Brief,
            ..RenderOptions::default()
        };
    };
    let dumb = is_dumb(&variable);
    RenderOptions {
        width: width.or(columns),
        color: !dumb && !refuses_colors(&variable),
        sparklines: !dumb && !lacks_unicode(&variable),
        columns: Columns::Brief,
        notes: Notes::Short,
    }
}

fn is_dumb(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("TERM").is_some_and(|v| v == "dumb")
}

/// Whether the locale names characters other than Unicode's: `LC_ALL`, `LC_CTYPE` or `LANG`, the first that is set (POSIX.1-2024, XBD
/// 8.2). Where none is, as in most containers, the terminal that shows their output has Unicode.
fn lacks_unicode(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].iter();
    let named = named
        .filter_map(|name| variable(name))
        .find(|v| !v.is_empty());
    named.is_some_and(|v| {
        let charset = v.to_string_lossy().to_lowercase();
        !charset.contains("utf-8") && !charset.contains("utf8")
    })
}

/// What stands for characters that a terminal without Unicode lacks.
const SPELLED: [(char, &str); 12] = [
    ('µ', "u"),
    ('×', "x"),
    ('–', "-"),
    ('─', "-"),
    ('·', "|"),
    ('…', "..."),
    ('∞', "inf"),
    ('→', "->"),
    ('≤', "<="),
    ('≥', ">="),
    ('≈', "~"),
    ('±', "+-"),
];

fn in_ascii(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match SPELLED.iter().find(|(known, _)| *known == c) {
            _ if c.is_ascii() => shown.push(c),
            Some((_, spelled)) => shown.push_str(spelled),
            None => shown.push('?'),
        }
    }
    shown
}

/// The same where a terminal shows it that has no Unicode.
fn spelled(text: Cow<'_, str>, terminal: bool) -> Cow<'_, str> {
    match terminal && !text.is_ascii() && lacks_unicode(|name| std::env::var_os(name)) {
        true => Cow::Owned(in_ascii(&text)),
        false => text,
    }
}

fn refuses_colors(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("NO_COLOR").is_some_and(|v| !v.is_empty())
        || variable("CLICOLOR").is_some_and(|v| v == "0")
}

/// Whether the stream is a terminal that takes colours.
pub(crate) fn wants_colors(of_stderr: bool) -> bool {
    let variable = |name: &str| std::env::var_os(name);
    let terminal = match of_stderr {
        true => has_stderr(),
        false => has_stdout(),
    };
    terminal && !is_dumb(variable) && !refuses_colors(variable)
}

/// Writes to standard output; colours stay on a terminal. A reader that has gone away (`dyno show | head`) is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let text = spelled(printable(text, has_stdout()), has_stdout());
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(failure!(Error, "cannot write to standard output: {e}"))
        }
        _ => Ok(()),
    }
}

/// One line on standard error. Where nobody reads it, nothing is lost.
pub(crate) fn say(line: impl AsRef<str>) {
    let line = spelled(clean(line.as_ref()).into(), has_stderr());
    let _ = writeln!(stderr(), "{line}");
}

/// What is going on: on a terminal a line that the next one, or an empty one, takes the place of.
pub(crate) fn step(what: &str) {
    let what = spelled(clean(what).into(), has_stderr());
    // EL (ECMA-48, section 8.3.41).
    let _ = match (has_stderr(), &*what) {
        (true, _) => write!(stderr(), "\r\x1b[K{what}"),
        (false, "") => Ok(()),
        (false, _) => writeln!(stderr(), "{what}"),
    };
}

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    /// Or anything else.
    No,
    /// Nobody answered before Ctrl-C or a signal.
    Interrupted,
}

/// What somebody typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, without its end.
    Line(String),
    /// No whole line of text: the terminal was closed, or Ctrl-D ended the input.
    Nothing,
    /// Nobody answered before Ctrl-C or a signal.
    Interrupted,
}

/// Asks for a yes.
pub(crate) fn ask(question: &str, interrupt: &AtomicBool) -> Answer {
    match prompt(&format!("{question} [y/N]"), interrupt) {
        Typed::Interrupted => Answer::Interrupted,
        Typed::Line(line) if ["y", "yes"].contains(&line.trim().to_lowercase().as_str()) => {
            Answer::Yes
        }
        Typed::Line(_) | Typed::Nothing => Answer::No,
    }
}

/// Asks on standard error, until somebody answers on standard input or `interrupt` is set.
pub(crate) fn prompt(question: &str, interrupt: &AtomicBool) -> Typed {
    /// A longer line is no answer.
    const LONGEST: usize = 4_096;
    /// A signal ends the wait; one that came just before it is seen after this time.
    const LOOK: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    let stdin = std::io::stdin();
    // What was typed before the question is no answer to it.
    let _ = tcflush(&stdin, QueueSelector::IFlush);
    let _ = write!(stderr(), "{} ", clean(question));
    let mut answer = Vec::new();
    loop {
        let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
        let ready = poll(&mut waited, Some(&LOOK));
        if interrupt.load(Ordering::Relaxed) {
            let _ = writeln!(stderr());
            return Typed::Interrupted;
        }
        match ready {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => {
                let mut bytes = [0; 64];
                let read = rustix::io::read(&stdin, &mut bytes).unwrap_or(0);
                answer.extend_from_slice(&bytes[..read]);
                // Ctrl-D in a line hands over its beginning.
                if read == 0 || answer.ends_with(b"\n") || answer.len() > LONGEST {
                    break;
                }
            }
            Err(_) => return Typed::Nothing,
        }
    }
    match String::from_utf8(answer) {
        Ok(line) if line.ends_with('\n') => Typed::Line(line.trim_end().to_owned()),
        _ => Typed::Nothing,
    }
}

/// The arguments of this process, as text: the command for the record.
pub(crate) fn arguments() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// How errors are laid out: names of stacks and files, which are copied, are not broken at their hyphens. Holds for errors that are made
/// afterwards.
pub(crate) fn lay_out_errors() {
    let hook = miette::set_hook(Box::new(|_| {
        let options = miette::MietteHandlerOpts::new();
        let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
        Box::new(
            options
                .word_separator(textwrap::WordSeparator::AsciiSpace)
                .build(),
        )
    }));
    debug_assert!(hook.is_ok(), "an error was made before");
}

/// Why there is nothing to print, with the places in texts.
pub(crate) fn fail(report: &Report) {
    let report = Report::new(Told::of(report.as_ref()));
    let text = format!("{report:?}\n");
    let text = spelled(printable(&text, has_stderr()), has_stderr());
    let _ = stderr().write_all(text.as_bytes());
}

/// Commands that some look for, and where Dyno has them.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "export",
        "`dyno show RUN --format csv` exports a run; `dyno show --help` lists all formats",
    ),
    (
        "import",
        "`dyno show FILE` reads the output of another tool, and `dyno audit FILE` checks it",
    ),
];

/// Where to find a command that Dyno has under another name.
fn elsewhere(e: &clap::Error) -> Option<String> {
    let word = e
        .get(clap::error::ContextKind::InvalidSubcommand)?
        .to_string();
    let (_, instead) = ELSEWHERE.iter().find(|(known, _)| *known == word)?;
    Some(format!("error: there is no command `{word}`: {instead}\n"))
}

/// What the parser of arguments says: help on standard output, mistakes on standard error. Colours of an argument could not be told from
/// the parser's own, so that one with a character that hides something is told without any.
pub(crate) fn usage(e: &clap::Error, color: bool) -> u8 {
    let mut arguments = std::env::args_os();
    let color = color && !arguments.any(|word| word.to_string_lossy().contains(is_hidden));
    let text = elsewhere(e).unwrap_or_else(|| match color {
        true => e.render().ansi().to_string(),
        false => e.render().to_string(),
    });
    match e.use_stderr() {
        true => {
            let _ = stderr().write_all(printable(&text, color).as_bytes());
        }
        // Help that cannot be printed is nothing that help could mend.
        false => drop(print(&text)),
    }
    u8::try_from(e.exit_code()).unwrap_or(Code::Usage as u8)
}

/// A diagnostic whose every text is clean; its labels stand where they stood.
#[derive(Debug)]
struct Told {
    message: String,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    labels: Vec<LabeledSpan>,
    related: Vec<Told>,
}

impl Told {
    fn of(diagnostic: &dyn Diagnostic) -> Told {
        let text = diagnostic.source_code().and_then(whole);
        let (name, text) = text.unwrap_or_default();
        let shown = |range: &str| printable(range, false).len();
        let label = |label: LabeledSpan| {
            let start = label.offset().min(text.len());
            let end = start.saturating_add(label.len()).min(text.len());
            // A span that is not at characters' borders is nobody's.
            let before = text.get(..start).map_or(0, shown);
            let within = text.get(start..end).map_or(0, shown);
            let words = label.label().map(clean);
            LabeledSpan::new(words, before, within)
        };
        Told {
            message: printable(&diagnostic.to_string(), false).into_owned(),
            help: diagnostic
                .help()
                .map(|help| printable(&help.to_string(), false).into_owned()),
            labels: diagnostic
                .labels()
                .into_iter()
                .flatten()
                .map(label)
                .collect(),
            source: (!text.is_empty()).then(|| {
                let shown = printable(&text, false).into_owned();
                NamedSource::new(clean(&name), shown)
            }),
            related: diagnostic
                .related()
                .into_iter()
                .flatten()
                .map(Told::of)
                .collect(),
        }
    }
}

/// The name and the whole text of a source.
fn whole(source: &dyn SourceCode) -> Option<(String, String)> {
    let start = SourceSpan::new(0.into(), 0);
    let all = source.read_span(&start, 0, usize::MAX).ok()?;
    let text = std::str::from_utf8(all.data()).ok()?.to_owned();
    Some((all.name().unwrap_or_default().to_owned(), text))
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Told {}

impl Diagnostic for Told {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.help.as_ref()?;
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        let source = self.source.as_ref()?;
        Some(source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = _>>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        (!self.related.is_empty()).then(|| {
            Box::new(self.related.iter().map(|one| one as &dyn Diagnostic))
                as Box<dyn Iterator<Item = _>>
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miette::GraphicalReportHandler;

    #[test]
    fn a_mistake_in_a_hostile_text_is_shown_at_its_place_and_its_text_cleaned() {
        let text = "a = 1\nb = \"\u{1b}[2J\u{202e}é\" # x\u{9b}\n";
        let mistake = miette::MietteDiagnostic::new("not \u{1b}]0;t\u{7} this")
            .with_help("write \u{202e} instead")
            .with_label(LabeledSpan::new(Some("here\u{1b}".into()), 10, 11));
        let report = Report::new(mistake)
            .with_source_code(NamedSource::new("a\u{1b}.toml", text.to_owned()));
        let told = Told::of(report.as_ref());
        let mut shown = String::new();
        GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode())
            .render_report(&mut shown, &told)
            .unwrap();
        let plain = dyno_report::clean(&shown.replace('\n', "⏎")).replace('⏎', "\n");
        assert!(!plain.contains('\u{1b}'), "{plain}");
        insta::assert_snapshot!(plain);
        let inner = told.source.as_ref().unwrap().inner();
        let label = &told.labels[0];
        assert_eq!(
            &inner[label.offset()..label.offset() + label.len()],
            "\"\u{fffd}[2J\u{fffd}é\""
        );
    }

    fn options(terminal: Option<Option<usize>>, set: &[(&str, &str)]) -> RenderOptions {
        options_of(terminal, |name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn what_is_no_terminal_gets_plain_text_and_a_brief_table() {
        let brief = |width| RenderOptions {
            width,
            columns: Columns::Brief,
            ..RenderOptions::default()
        };
        let plain = options(None, &[("TERM", "xterm-256color"), ("CLICOLOR", "1")]);
        assert_eq!(plain, brief(None));
        for (columns, width) in [("90", Some(90)), ("0", None), ("", None), ("-1", None)] {
            assert_eq!(options(None, &[("COLUMNS", columns)]), brief(width));
        }
        // A terminal knows its width better.
        let wide = options(Some(Some(100)), &[("COLUMNS", "90")]);
        assert_eq!(wide.width, Some(100));
        assert_eq!(options(Some(None), &[("COLUMNS", "90")]).width, Some(90));
    }

    #[test]
    fn a_terminal_gets_colours_bars_and_its_width() {
        let full = RenderOptions {
            width: Some(100),
            color: true,
            sparklines: true,
            columns: Columns::Brief,
            notes: Notes::Short,
        };
        assert_eq!(options(Some(Some(100)), &[]), full);
        // An empty NO_COLOR asks for nothing.
        let set = [("TERM", "xterm"), ("NO_COLOR", ""), ("CLICOLOR", "1")];
        assert_eq!(options(Some(Some(100)), &set), full);
    }

    #[test]
    fn a_terminal_without_unicode_gets_ascii_and_no_bars() {
        let bars = |set: &[(&str, &str)]| options(Some(Some(80)), set).sparklines;
        assert!(
            bars(&[])
                && bars(&[("LANG", "C.UTF-8")])
                && bars(&[("LC_ALL", ""), ("LANG", "de_DE.utf8")])
        );
        assert!(!bars(&[("LANG", "C")]) && !bars(&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")]));
        assert_eq!(
            in_ascii("× floor · 12.3 µs [–, ∞] …é"),
            "x floor | 12.3 us [-, inf] ...?"
        );
    }

    #[test]
    fn colours_can_be_refused_and_a_dumb_terminal_has_neither_colours_nor_bars() {
        for set in [("NO_COLOR", "1"), ("CLICOLOR", "0")] {
            let shown = options(Some(Some(80)), &[set]);
            assert_eq!((shown.color, shown.sparklines), (false, true), "{set:?}");
        }
        let dumb = options(Some(None), &[("TERM", "dumb")]);
        assert_eq!(
            (dumb.width, dumb.color, dumb.sparklines),
            (None, false, false)
        );
    }
}
