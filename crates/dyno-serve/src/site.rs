//! What stands under which path.

use crate::answer::Answer;
use crate::folder::Folder;
use crate::list::{List, Query};
use crate::name;
use crate::pages::{Key, LEAST_PAUSE, Made, Pages};
use crate::peer::Peer;
use crate::report::{self, Part};
use crate::shelf::{Look, Shelf, Unseen};
use crate::turns::{self, Full, Turns};
use bytes::Bytes;
use hyper::StatusCode;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinError;

/// Looks at the folder at once, and those for one peer.
const LOOKS: usize = 4;
const LOOKS_EACH: usize = 2;
/// Reports made at once, and those for one peer. Each takes a CPU.
const REPORTS: usize = 2;
const REPORTS_EACH: usize = 1;
/// A request is answered within this time.
const ANSWER: Duration = Duration::from_secs(60);

const STYLE: &str = include_str!("../assets/serve.css");
const FOLLOW: &str = include_str!("../assets/follow.js");
/// Names that end in .html are escaped.
const TEMPLATES: [(&str, &str); 4] = [
    ("frame.html", include_str!("../templates/frame.html")),
    ("list.html", include_str!("../templates/list.html")),
    ("message.html", include_str!("../templates/message.html")),
    ("bar.html", include_str!("../templates/bar.html")),
];

/// Everything that is shown of a folder.
#[derive(Debug)]
pub(crate) struct Site {
    shelf: Shelf,
    pages: Pages,
    templates: Environment<'static>,
    /// How the user calls the folder.
    folder: String,
    looks: Turns,
    reports: Turns,
}

/// Why something is not shown.
#[derive(Debug, Clone)]
enum Trouble {
    /// There is nothing of that address.
    Nowhere,
    /// The folder has no such run.
    Missing(String),
    /// It has, and it cannot be shown.
    Unreadable { name: String, reason: String },
    /// The request makes no sense.
    Asked(&'static str),
    /// The peer has too many requests here already.
    Busy,
    /// It was not done in time.
    Late,
    /// Our own fault, or the machine's.
    Defect(String),
}

/// A run, or why it cannot be shown.
type Seen = Result<Look, String>;

impl Trouble {
    fn status(&self) -> StatusCode {
        match self {
            Trouble::Nowhere | Trouble::Missing(_) => StatusCode::NOT_FOUND,
            Trouble::Unreadable { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Trouble::Asked(_) => StatusCode::BAD_REQUEST,
            Trouble::Busy | Trouble::Late => StatusCode::SERVICE_UNAVAILABLE,
            Trouble::Defect(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Heading and text.
    fn message(&self) -> (&'static str, String) {
        match self {
            Trouble::Nowhere => (
                "No such page",
                "There is no page at this address. The list links to all pages.".to_owned(),
            ),
            Trouble::Missing(name) => (
                "No such run",
                format!(
                    "The folder has no run {name}. It may have been moved or renamed; the list shows all runs."
                ),
            ),
            Trouble::Unreadable { name, reason } => {
                ("This run cannot be shown", format!("{name}: {reason}"))
            }
            Trouble::Asked(text) => ("This cannot be shown", (*text).to_owned()),
            Trouble::Busy => (
                "Too many requests at once",
                format!(
                    "{} of your requests are already waiting. Ask again when they are answered.",
                    turns::LINE
                ),
            ),
            Trouble::Late => (
                "This takes longer",
                format!(
                    "There is no answer after {} seconds. Load the page again later: the server \
                     finishes a report that it has begun.",
                    ANSWER.as_secs()
                ),
            ),
            Trouble::Defect(text) => ("Internal error", text.clone()),
        }
    }
}

impl From<Full> for Trouble {
    fn from(_: Full) -> Trouble {
        Trouble::Busy
    }
}

impl From<JoinError> for Trouble {
    fn from(_: JoinError) -> Trouble {
        defect("The server failed while it made this page.".to_owned())
    }
}

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked<'p> {
    List,
    Report(&'p str),
    Data(&'p str),
    State(&'p str),
    Compare,
    CompareData,
    Style,
    Follow,
    Icon,
    Nothing,
}

impl Asked<'_> {
    /// By the segments of the path as they came, so that nothing encoded can add one.
    fn of(path: &str) -> Asked<'_> {
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        match segments.as_slice() {
            [""] => Asked::List,
            ["runs", name] => Asked::Report(name),
            ["runs", name, "data.json"] => Asked::Data(name),
            ["runs", name, "state"] => Asked::State(name),
            ["compare"] => Asked::Compare,
            ["compare", "data.json"] => Asked::CompareData,
            ["assets", "serve.css"] => Asked::Style,
            ["assets", "follow.js"] => Asked::Follow,
            ["favicon.ico"] => Asked::Icon,
            _ => Asked::Nothing,
        }
    }

    /// Whether a program asks.
    fn is_data(&self) -> bool {
        matches!(self, Asked::Data(_) | Asked::State(_) | Asked::CompareData)
    }
}

#[derive(Serialize)]
struct Link {
    address: String,
    text: String,
}

impl Site {
    pub(crate) fn new(folder: Folder, called: &Path) -> Site {
        let mut templates = Environment::new();
        for (name, text) in TEMPLATES {
            // Tests render every one of them, so none is wrong; a page without it would say so.
            let _ = templates.add_template(name, text);
        }
        Site {
            shelf: Shelf::new(folder),
            pages: Pages::default(),
            templates,
            folder: called.display().to_string(),
            looks: Turns::new(LOOKS, LOOKS_EACH),
            reports: Turns::new(REPORTS, REPORTS_EACH),
        }
    }

    /// The answer to a request of a peer that the gate let pass.
    pub(crate) async fn answer(self: Arc<Site>, peer: Peer, path: &str, query: &str) -> Answer {
        let asked = Asked::of(path);
        let answered = tokio::time::timeout(ANSWER, self.clone().find(peer, &asked, query)).await;
        let answered = answered.unwrap_or(Err(Trouble::Late));
        answered.unwrap_or_else(|trouble| self.tell(&trouble, asked.is_data()))
    }

    async fn find(
        self: Arc<Site>,
        peer: Peer,
        asked: &Asked<'_>,
        query: &str,
    ) -> Result<Answer, Trouble> {
        match asked {
            Asked::List => self.list(peer, query).await,
            Asked::Report(name) => self.report(peer, one(name)).await,
            Asked::Data(name) => self.data(peer, one(name)).await,
            Asked::State(name) => self.state(peer, one(name)).await,
            Asked::Compare => self.compare(peer, query).await,
            Asked::CompareData => self.data(peer, two(query)).await,
            Asked::Style => Ok(Answer::css(STYLE)),
            Asked::Follow => Ok(Answer::javascript(FOLLOW)),
            Asked::Icon => Ok(Answer::nothing()),
            Asked::Nothing => Err(Trouble::Nowhere),
        }
    }

    fn tell(&self, trouble: &Trouble, to_program: bool) -> Answer {
        let (title, text) = trouble.message();
        let answer = if to_program {
            Answer::json(dyno_page::inert(json!({"error": text}).to_string()))
        } else {
            match self.page("message.html", context! { title, text => text.as_str() }) {
                Ok(page) => Answer::html(page),
                Err(_) => Answer::text(format!("{title}\n\n{text}\n")),
            }
        };
        answer.with_status(trouble.status())
    }

    fn page(&self, template: &str, values: Value) -> Result<String, Trouble> {
        let rendered = self
            .templates
            .get_template(template)
            .and_then(|t| t.render(values));
        rendered.map_err(|e| defect(format!("The page {template} cannot be made: {e}")))
    }

    async fn list(self: Arc<Site>, peer: Peer, query: &str) -> Result<Answer, Trouble> {
        let query = Query::parse(query);
        let site = self.clone();
        let page = self.looking(peer, move || {
            let listing = site.shelf.list().map_err(Trouble::Defect)?;
            let list = List::of(&listing, &query, &site.folder);
            site.page("list.html", Serde(&list).into())
        });
        Ok(Answer::html(page.await??))
    }

    async fn report(
        self: Arc<Site>,
        peer: Peer,
        key: Result<Key, Trouble>,
    ) -> Result<Answer, Trouble> {
        let made = self.made(peer, key?).await?;
        Ok(Answer::html(made.html.clone())
            .with_policy(made.policy.clone())
            .with_version(&version(made.version)))
    }

    async fn data(
        self: Arc<Site>,
        peer: Peer,
        key: Result<Key, Trouble>,
    ) -> Result<Answer, Trouble> {
        let made = self.made(peer, key?).await?;
        Ok(Answer::json(made.json.clone()).with_version(&version(made.version)))
    }

    async fn state(
        self: Arc<Site>,
        peer: Peer,
        key: Result<Key, Trouble>,
    ) -> Result<Answer, Trouble> {
        let key = key?;
        let site = self.clone();
        let state = self.looking(peer, move || {
            let looks = site.looks_at(&key)?;
            let Some(Ok(look)) = looks.first() else {
                return Err(defect("A state belongs to one run.".to_owned()));
            };
            let (now, running) = site.together(&looks);
            Ok(json!({
                "running": look.runner,
                "stored": look.count.stored,
                "done": look.done(),
                "failed": look.count.failed,
                "disturbed": look.count.disturbed,
                "unreadable": look.count.unreadable,
                "planned": look.head.planned,
                "version": version(site.pages.shown(&key, now, running)),
                "again_ms": u64::try_from(LEAST_PAUSE.as_millis()).unwrap_or(u64::MAX),
            }))
        });
        Ok(Answer::json(dyno_page::inert(state.await??.to_string())))
    }

    /// The report of two runs. What the list's form sends is put in order first: the older run is the base.
    async fn compare(self: Arc<Site>, peer: Peer, query: &str) -> Result<Answer, Trouble> {
        let ticked: Vec<&str> = name::values(query, "run").collect();
        if ticked.is_empty() {
            return self.report(peer, two(query)).await;
        }
        let names: Option<Vec<OsString>> = ticked.into_iter().map(name::of_form).collect();
        let Some([a, b]) = names.and_then(|n| <[OsString; 2]>::try_from(n).ok()) else {
            return Err(Trouble::Asked("Tick two runs of the list to compare them."));
        };
        let site = self.clone();
        let key = Key::Two(a.clone(), b.clone());
        let looks = self.looking(peer, move || site.looks_at(&key)).await??;
        let started = looks.iter().flatten().map(|look| look.head.started_unix_ms);
        let (base, new) = if started.is_sorted() { (a, b) } else { (b, a) };
        let (base, new) = (name::encode(&base), name::encode(&new));
        Ok(Answer::elsewhere(format!("/compare?base={base}&new={new}")))
    }

    /// The runs of a report as they are now, or why one of them cannot be shown. That none of them can, or
    /// that one does not exist, is the trouble.
    fn looks_at(&self, key: &Key) -> Result<Vec<Seen>, Trouble> {
        let mut all = Vec::new();
        let mut first = None;
        for name in key.names() {
            let shown = || name.to_string_lossy().into_owned();
            all.push(match self.shelf.look(name) {
                Ok(look) => Ok(look),
                Err(Unseen::Missing) => return Err(Trouble::Missing(shown())),
                Err(Unseen::Unreadable(reason)) => {
                    first.get_or_insert_with(|| Trouble::Unreadable {
                        name: shown(),
                        reason: reason.clone(),
                    });
                    Err(reason)
                }
            });
        }
        match first {
            Some(trouble) if all.iter().all(Result::is_err) => Err(trouble),
            _ => Ok(all),
        }
    }

    /// The version of runs together, and whether one of them is being measured.
    fn together(&self, looks: &[Seen]) -> (u64, bool) {
        let versions: Vec<Option<u64>> = looks
            .iter()
            .map(|l| l.as_ref().ok().map(|l| l.version))
            .collect();
        let running = looks.iter().flatten().any(Look::is_running);
        (self.shelf.together(versions), running)
    }

    /// Runs a look at the folder in the peer's turn.
    async fn looking<T: Send + 'static>(
        &self,
        peer: Peer,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let first = self.looks.first(peer).await?;
        Ok(self.looks.work(first, look).await?)
    }

    /// The report, made if there is none that can be shown. It is made once for all who wait for it, and
    /// its making goes on when they leave: both locks go with it.
    async fn made(self: Arc<Site>, peer: Peer, key: Key) -> Result<Arc<Made>, Trouble> {
        let asked = Instant::now();
        let (site, whose) = (self.clone(), key.clone());
        let seen = self.looking(peer, move || {
            let looks = site.looks_at(&whose)?;
            Ok::<_, Trouble>(site.together(&looks))
        });
        let (now, running) = seen.await??;
        if let Some(made) = self.pages.serving(&key, now, running) {
            return Ok(made);
        }
        // Before the report's lock: who holds that then waits for the turns of other peers at most, and not
        // in its own line, where others who want the same report would wait with it.
        let first = self.reports.first(peer).await?;
        let slot = self.pages.slot(&key);
        let turn = slot.turn.clone().lock_owned().await;
        if let Some(made) = slot.since(asked).or_else(|| slot.serving(now, running)) {
            return Ok(made);
        }
        let site = self.clone();
        let made = self.reports.work(first, move || {
            let made = Arc::new(site.make(&key)?);
            site.pages.keep(&slot, made.clone());
            drop(turn);
            Ok::<_, Trouble>(made)
        });
        made.await?
    }

    fn make(&self, key: &Key) -> Result<Made, Trouble> {
        let began = Instant::now();
        let looks = self.looks_at(key)?;
        let (seen, running) = self.together(&looks);
        let mut parts = Vec::new();
        for (name, look) in key.names().into_iter().zip(looks) {
            let read = look.and_then(|look| {
                let read = dyno_store::read_run(&look.directory);
                let read = read.map_err(|e| self.shelf.told(&e.to_string()))?;
                Ok((look, read))
            });
            parts.push(Part {
                name: name.to_string_lossy().into_owned(),
                read,
            });
        }
        let bar = self.bar(key, running, &parts)?;
        let live = running.then(|| key.data_address());
        let told = |text: &str| self.shelf.told(text);
        let report = report::make(&parts, live.as_deref(), &bar, &told)
            .map_err(|e| Trouble::Defect(e.to_string()))?;
        Ok(Made {
            version: seen,
            html: Bytes::from(report.html),
            policy: report.policy,
            json: Bytes::from(report.json),
            began,
            ended: Instant::now(),
        })
    }

    /// The bar above a report.
    fn bar(&self, key: &Key, running: bool, parts: &[Part]) -> Result<String, Trouble> {
        let report = |name: &OsString| format!("/runs/{}", name::encode(name));
        let (state, links) = match key {
            Key::One(name) => {
                let state = format!("{}/state", report(name));
                (running.then_some(state), Vec::new())
            }
            Key::Two(base, new) => {
                let link = |label: &str, name: &OsString| Link {
                    address: report(name),
                    text: format!("{label}: {}", name.to_string_lossy()),
                };
                (None, vec![link("A", base), link("B", new)])
            }
        };
        let (mut done, mut planned) = (0, 1);
        if let Some(Ok((look, _))) = parts.first().map(|part| &part.read) {
            (done, planned) = (look.done(), look.head.planned.max(1));
        }
        self.page(
            "bar.html",
            context! { state, running, done, planned, links => Serde(links) },
        )
    }
}

fn defect(text: String) -> Trouble {
    Trouble::Defect(format!(
        "{text} This is a defect of Dyno, please report it."
    ))
}

fn one(segment: &str) -> Result<Key, Trouble> {
    let missing = || Trouble::Missing(name::text(segment));
    name::decode(segment).map(Key::One).ok_or_else(missing)
}

fn two(query: &str) -> Result<Key, Trouble> {
    let named = |key| {
        let value = name::values(query, key).next()?;
        name::of_form(value)
    };
    match (named("base"), named("new")) {
        (Some(base), Some(new)) => Ok(Key::Two(base, new)),
        _ => Err(Trouble::Asked(
            "Name two runs: /compare?base=NAME&new=NAME, or tick two of the list.",
        )),
    }
}

fn version(number: u64) -> String {
    format!("{number:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_meaning_each() {
        for (path, asked) in [
            ("/", Asked::List),
            ("/runs/a", Asked::Report("a")),
            ("/runs/a%2Fb", Asked::Report("a%2Fb")),
            ("/runs/a/data.json", Asked::Data("a")),
            ("/runs/a/state", Asked::State("a")),
            ("/compare", Asked::Compare),
            ("/compare/data.json", Asked::CompareData),
            ("/assets/serve.css", Asked::Style),
            ("//", Asked::Nothing),
            ("/runs", Asked::Nothing),
            ("/runs/a/b", Asked::Nothing),
            ("/runs/../x", Asked::Nothing),
            ("/assets/../serve.css", Asked::Nothing),
            ("*", Asked::Nothing),
        ] {
            assert_eq!(Asked::of(path), asked, "{path}");
        }
    }

    #[test]
    fn every_template_is_understood() {
        let mut templates = Environment::new();
        for (name, text) in TEMPLATES {
            templates.add_template(name, text).unwrap();
        }
    }

    #[test]
    fn two_runs_are_named_by_their_keys() {
        assert_eq!(
            two("new=b%20c&base=a").unwrap(),
            Key::Two("a".into(), "b c".into())
        );
        assert!(two("base=a").is_err());
        assert!(two("base=a&new=%2Fetc").is_err());
    }
}
