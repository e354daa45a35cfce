//! The document as one HTML file: skeleton, words, data, style and script, and a policy that lets the page
//! do nothing but show itself.
//!
//! Two things keep foreign text from becoming markup: the template escapes whatever it prints, and the data
//! has none of the characters that HTML could take for markup. If both failed, the policy would still run no
//! script but ours, which it knows by its hash.

use crate::document::{Comparison, Document, RunPage};
use base64::Engine as _;
use dyno_report::{AnswersSummary, clean, utc};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context, escape_formatter};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Write as _;

/// The skeleton.
const TEMPLATE: &str = include_str!("../templates/page.html");
/// The bundle that `web/` is built into.
const SCRIPT: &str = include_str!("../assets/page.js");
const STYLE: &str = include_str!("../assets/page.css");

/// Data of more bytes is compressed: a page of ten thousand trials has twenty million. What is smaller can be
/// read by any browser, and by any reader of JSON.
const LARGE: usize = 1_000_000;

/// The page could not be put together: a defect of Dyno.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The built-in template is wrong.
    #[error("the page cannot be made: {0}; this is a defect of Dyno, please report it")]
    Template(#[from] minijinja::Error),
    /// There is no memory for its data.
    #[error("the page's data cannot be compressed: {0}; name fewer runs")]
    Packing(#[from] std::io::Error),
}

/// The page as one file that needs no network and opens from disk.
///
/// # Errors
///
/// When the built-in template is wrong.
pub fn render(document: &Document) -> Result<String, PageError> {
    page(document, None)
}

/// The page for a server that has newer data under `url`: the same, but it may ask its own origin, and the
/// `<html>` element names the address in `data-live`.
///
/// # Errors
///
/// When the built-in template is wrong.
pub fn render_live(document: &Document, url: &str) -> Result<String, PageError> {
    page(document, Some(url))
}

fn page(document: &Document, live: Option<&str>) -> Result<String, PageError> {
    let json = document.to_json();
    let data = (json.len() > LARGE).then(|| packed(&json)).transpose()?;
    let mut environment = Environment::new();
    // Every text that stands in the page passes here. Names that end in .html are escaped.
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(clean(text))),
        _ => escape_formatter(out, state, value),
    });
    environment.add_template("page.html", TEMPLATE)?;
    let changes = document.comparisons.iter();
    let template = environment.get_template("page.html")?;
    Ok(template.render(context! {
        title => title(document),
        policy => policy(live.is_some()),
        dyno => document.dyno,
        made => utc(document.made_unix_ms),
        live,
        several => document.runs.len() > 1,
        has_verdicts => document.runs.iter().any(|run| run.verdicts.is_some()),
        runs => document.runs.iter().map(run_view).collect::<Vec<_>>(),
        changes => changes.map(|c| changes_view(document, c)).collect::<Vec<_>>(),
        unreadable => Serde(&document.unreadable),
        style => STYLE,
        script => SCRIPT,
        data => data.as_deref().unwrap_or(&json),
        // Whether the data is compressed.
        packed => data.is_some(),
    })?)
}

/// What the template prints of a run.
fn run_view(run: &RunPage) -> Value {
    // What would answer better, each once.
    let hints: BTreeSet<&str> = run
        .answers
        .iter()
        .filter_map(|a| a.hint.as_deref())
        .collect();
    // Answers with the rows that the data leaves out, and how many experiments are compared.
    let answers = run.answers.iter().map(|answer| {
        context! {
            question => &answer.question,
            text => &answer.text,
            rows => Serde(&answer.rows),
            stacks => answer.experiments.len(),
        }
    });
    context! {
        name => &run.name,
        running => run.running,
        facts => Serde(&run.facts),
        problems => &run.problems,
        verdicts => run.verdicts.as_ref().map(Serde),
        // At the head of a page of one run.
        brief => run.brief.as_ref().map(brief_view),
        answers => answers.collect::<Vec<_>>(),
        hints => Serde(&hints),
    }
}

/// What it prints of a comparison: also what else differs, so that the figures are put down to it or to nothing.
fn changes_view(document: &Document, comparison: &Comparison) -> Value {
    let name = |side: &str, place: usize| match comparison.base == comparison.new {
        // Two sides of one run have names of their own.
        true => comparison.compare[side]["name"]
            .as_str()
            .unwrap_or_default(),
        false => document.runs[place].name.as_str(),
    };
    let headline = |h: &dyno_judge::Headline| {
        let (kind, mark) = match h.is_worse {
            Some(true) => ("worse", "▲"),
            Some(false) => ("better", "▼"),
            None => ("", ""),
        };
        context! { kind, mark, text => &h.text }
    };
    context! {
        base => name("base", comparison.base),
        new => name("new", comparison.new),
        conclusion => comparison.compare["conclusion"].as_str(),
        headlines => comparison.headlines.iter().map(headline).collect::<Vec<_>>(),
    }
}

/// The answers in short.
fn brief_view(answers: &AnswersSummary) -> Value {
    let (questions, more) = answers.shown();
    context! {
        title => &answers.title,
        questions => Serde(questions),
        more,
        how_sure => &answers.how_sure,
    }
}

/// What browsers and lists of files show.
fn title(document: &Document) -> String {
    match document.runs.as_slice() {
        [] => "Dyno".into(),
        [run] => match run.facts.title.as_str() {
            "" => format!("{} · Dyno", run.facts.id),
            title => format!("{}: {title} · Dyno", run.facts.suite),
        },
        several => {
            let ids: Vec<&str> = several.iter().map(|r| r.facts.id.as_str()).collect();
            format!("{} · Dyno", ids.join(", "))
        }
    }
}

/// Nothing but the page's own style and script, and images that the script makes. Inline styles are
/// allowed, because plots set them on their elements; scripts only with our bundle's hash.
fn policy(live: bool) -> String {
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let connect = if live { "; connect-src 'self'" } else { "" };
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'{connect}"
    )
}

/// Deflated with zlib's header, as base64: what the script unpacks with the browser's own `DecompressionStream`.
fn packed(text: &str) -> std::io::Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    Ok(base64::engine::general_purpose::STANDARD.encode(encoder.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::inert;

    #[test]
    fn packed_data_is_the_same_data() {
        let text = inert(r#"{"trials":[1,2,3],"name":"🚗 <b>"}"#.repeat(50_000));
        let packed = packed(&text).unwrap();
        assert!(packed.len() < text.len() / 10);
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(packed)
            .unwrap();
        let mut back = String::new();
        std::io::Read::read_to_string(&mut flate2::read::ZlibDecoder::new(&bytes[..]), &mut back)
            .unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn the_bundle_stays_within_its_elements() {
        let script = SCRIPT.to_ascii_lowercase();
        for end in ["</script", "<!--", "<script"] {
            assert!(!script.contains(end), "page.js has {end}");
        }
        // The parser would change it, and the hash would not fit.
        assert!(!SCRIPT.contains(['\r', '\0']));
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
    }

    #[test]
    fn the_bundle_neither_evaluates_text_nor_names_a_network_address() {
        for way in ["eval(", "new Function(", "importScripts"] {
            assert!(!SCRIPT.contains(way), "page.js has {way}");
        }
        for way in ["@import", "url(http", "url(//"] {
            assert!(!STYLE.contains(way), "page.css has {way}");
        }
    }
}
