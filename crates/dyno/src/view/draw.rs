//! Puts a [`View`] on a screen of any size. Changes nothing; says which rows it showed.

use super::state::{Phase, Row, Tone, View};
use dyno_model::{Experiment, Nanos, TrialId};
use dyno_report::{conditions, is_hidden, varying_conditions, wrap};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Clear, Paragraph, Row as Cells, Table};
use std::time::Duration;

/// Columns of numbers: title and width.
const NUMBERS: [(&str, u16); 5] = [
    ("trials", 7),
    ("failed", 6),
    ("p50", 8),
    ("p99", 8),
    ("lost", 7),
];
/// The least width in which experiments have a column for their conditions.
const WITH_CONDITIONS: u16 = 72;
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// Draws the view; returns how many rows fit, and the first of them.
pub(crate) fn draw(view: &View, frame: &mut Frame<'_>) -> (usize, usize) {
    let all = frame.area();
    let width = usize::from(all.width);
    let head = head(view, width);
    let log = log(view, width, usize::from(all.height / 3));
    let log_height = match log.len() {
        0 => 0,
        // With the line above it.
        lines => u16::try_from(lines + 1).unwrap_or(u16::MAX),
    };
    let head_height = u16::try_from(head.len()).unwrap_or(u16::MAX);
    let [top, middle, bottom, foot] = Layout::vertical([
        Constraint::Length(head_height),
        Constraint::Min(2),
        Constraint::Length(log_height),
        Constraint::Length(1),
    ])
    .areas(all);
    frame.render_widget(Paragraph::new(head), top);
    let window = table(view, frame, middle);
    let line_above = Block::new().borders(Borders::TOP).border_style(DIM);
    frame.render_widget(Paragraph::new(log).block(line_above), bottom);
    let keys = format!("q {}  ↑ ↓ PgUp PgDn rows  h help", view.quit);
    frame.render_widget(Paragraph::new(Span::styled(keys, DIM)), foot);
    if view.help {
        help(view, frame, all);
    }
    for cell in &mut frame.buffer_mut().content {
        if cell.symbol().contains(is_hidden) {
            cell.set_symbol("\u{fffd}");
        }
    }
    window
}

/// What is run, how far it is, and what is going on.
fn head(view: &View, width: usize) -> Vec<Line<'static>> {
    let plan = &view.plan;
    let mut title = vec![
        Span::styled(plan.suite.clone(), BOLD),
        Span::raw(format!(" · run {}", view.run)),
        Span::raw(format!(" · testbed {}", plan.testbed.name)),
    ];
    if let Some(part) = &plan.shard {
        title.push(Span::styled(format!(" · {part}"), BOLD));
    }
    let mut lines = vec![Line::from(title), Line::from(progress(view))];
    match view
        .current
        .and_then(|id| Some((id, plan.experiment(id.experiment)?)))
    {
        Some((id, e)) => {
            let since = view.elapsed.saturating_sub(view.current_since);
            let now = format!("now: {}, for {}", view.label(id), clock(since));
            for text in [now, conditions(e), hosts(view, e)] {
                lines.extend(indented(&text, width));
            }
        }
        None => lines.push(Line::raw(idle(view))),
    }
    lines
}

fn progress(view: &View) -> Vec<Span<'static>> {
    let (done, needed) = (view.done(), view.needed());
    let mut spans = vec![Span::raw(format!("{done} of {needed} trials"))];
    match view.failed() {
        0 => {}
        n => spans.push(Span::styled(
            format!(", {n} failed"),
            Style::new().fg(Color::Red),
        )),
    }
    spans.push(Span::raw(format!(" · {} gone", clock(view.elapsed))));
    match view.phase {
        Phase::Running => {
            let left = clock(view.time_left());
            spans.push(Span::raw(format!(" · about {left} left")));
        }
        Phase::Stopping => spans.push(Span::styled(" · stopping", BOLD)),
        Phase::Abandoned => spans.push(Span::styled(" · no runner is active", BOLD)),
        Phase::Complete => spans.push(Span::styled(" · complete", BOLD)),
    }
    spans
}

fn idle(view: &View) -> String {
    match view.phase {
        Phase::Running | Phase::Stopping => "between two trials".into(),
        Phase::Abandoned => "continue with: dyno run --resume DIR".into(),
        Phase::Complete => "no more trials follow".into(),
    }
}

/// Which host plays which roles of an experiment.
fn hosts(view: &View, e: &Experiment) -> String {
    let plan = &view.plan;
    let mut on: Vec<Vec<String>> = vec![Vec::new(); plan.testbed.hosts.len()];
    for participant in &plan.graph(e).participants {
        if let Some(roles) = on.get_mut(participant.host) {
            roles.push(format!(
                "{} {}",
                participant.role.as_str(),
                participant.index
            ));
        }
    }
    let busy = plan.testbed.hosts.iter().zip(on);
    let texts: Vec<String> = busy
        .filter(|(_, roles)| !roles.is_empty())
        .map(|(host, roles)| format!("{}: {}", host.name, roles.join(", ")))
        .collect();
    texts.join(" · ")
}

/// The experiments; how many rows fit, and the first of them.
fn table(view: &View, frame: &mut Frame<'_>, area: Rect) -> (usize, usize) {
    let page = usize::from(area.height.saturating_sub(1)).max(1);
    let last = view.rows.len().saturating_sub(page);
    let of_current = |id: TrialId| view.rows.iter().position(|r| r.id == id.experiment);
    let first = match (view.scroll, view.current.and_then(of_current)) {
        (Some(first), _) => first.min(last),
        // Page by page, so that the table does not move with every trial.
        (None, Some(current)) => (current / page * page).min(last),
        (None, None) => view.window.1.min(last),
    };
    let experiments = || view.plan.here();
    let with_conditions = area.width >= WITH_CONDITIONS;
    let conditions = varying_conditions(experiments());
    let names = experiments().map(|e| format!("{} on {}", e.name, e.stack));
    let names: Vec<String> = names.collect();
    let longest = names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let shown = view.rows.iter().zip(names).zip(conditions);
    let rows = shown.skip(first).take(page).map(|((row, name), about)| {
        let current = view.current.is_some_and(|id| id.experiment == row.id);
        let mark = if current { "›" } else { " " };
        let mut cells = vec![Cell::from(mark), Cell::from(name)];
        if with_conditions {
            cells.push(Cell::from(about.to_string()));
        }
        cells.extend(numbers(row));
        let style = match (row.failed, row.done) {
            (0, _) if current => BOLD,
            (0, _) => Style::new(),
            (failed, done) if failed == done => Style::new().fg(Color::Red),
            _ => Style::new().fg(Color::Yellow),
        };
        Cells::new(cells).style(style)
    });
    let mut titles = vec![Cell::from(""), Cell::from("experiment")];
    let mut widths = vec![Constraint::Length(1)];
    let longest = u16::try_from(longest).unwrap_or(u16::MAX);
    if with_conditions {
        widths.extend([Constraint::Max(longest.max(10)), Constraint::Fill(1)]);
        titles.push(Cell::from("conditions"));
    } else {
        widths.push(Constraint::Fill(1));
    }
    for (title, width) in NUMBERS {
        titles.push(Cell::from(Line::raw(title).right_aligned()));
        widths.push(Constraint::Length(width));
    }
    let table = Table::new(rows, widths)
        .header(Cells::new(titles).style(BOLD))
        .column_spacing(1);
    frame.render_widget(table, area);
    (page, first)
}

fn numbers(row: &Row) -> Vec<Cell<'static>> {
    let quantile = |q| match row.quantile(q) {
        None => String::new(),
        Some(ns) if ns.is_finite() => Nanos(ns as u64).to_string(),
        Some(_) => "∞".into(),
    };
    let failed = match row.failed {
        0 => String::new(),
        n => n.to_string(),
    };
    let loss = match row.loss() {
        None => String::new(),
        Some(0.0) => "0".into(),
        Some(share) if share < 0.0001 => "<0.01 %".into(),
        Some(share) => format!("{:.2} %", 100.0 * share),
    };
    let texts = [
        format!("{}/{}", row.done, row.planned),
        failed,
        quantile(0.5),
        quantile(0.99),
        loss,
    ];
    let right = |text: String| Cell::from(Line::raw(text).right_aligned());
    texts.into_iter().map(right).collect()
}

/// The last lines of the log, at most so many of the screen.
fn log(view: &View, width: usize, room: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (tone, text) in view.log.iter().rev() {
        let style = match tone {
            Tone::Plain => Style::new(),
            Tone::Warning => Style::new().fg(Color::Yellow),
            Tone::Failure => Style::new().fg(Color::Red),
        };
        let wrapped = wrap(text, Some(width), 2);
        let left = room.saturating_sub(lines.len());
        let wrapped = wrapped.into_iter().rev().take(left);
        lines.extend(wrapped.map(|line| Line::from(Span::styled(line, style))));
        if lines.len() >= room {
            break;
        }
    }
    lines.reverse();
    lines
}

/// A line of the head, over as many lines as it takes.
fn indented(text: &str, width: usize) -> Vec<Line<'static>> {
    let margin = if text.starts_with("now: ") {
        ""
    } else {
        "     "
    };
    let text = format!("{margin}{text}");
    let wrapped = wrap(&text, Some(width), 5);
    wrapped.into_iter().map(Line::raw).collect()
}

fn help(view: &View, frame: &mut Frame<'_>, all: Rect) {
    let quit = format!("q, Ctrl-C   {}", view.quit);
    let lines = [
        quit.as_str(),
        "↑ ↓         one row up or down",
        "PgUp PgDn   one page; Home, End: the first, the last",
        "h           this help",
        "",
        "p50, p99    over the trials so far; the final table has",
        "            their intervals. ∞: that message was lost",
        "lost        share of offered messages that never arrived",
        "trials      stored and needed; failed ones among them",
    ];
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let width = 66.min(all.width);
    let height = height.min(all.height);
    let area = Rect {
        x: (all.width - width) / 2,
        y: (all.height - height) / 2,
        width,
        height,
    };
    let text: Vec<Line<'_>> = lines.into_iter().map(Line::raw).collect();
    frame.render_widget(Clear, area);
    let block = Block::new().borders(Borders::ALL).title(" keys ");
    frame.render_widget(Paragraph::new(text).block(block), area);
}

/// `1:02:03 h`, `4:05 min` or `12 s`.
fn clock(time: Duration) -> String {
    let (hours, minutes, seconds) = (
        time.as_secs() / 3_600,
        time.as_secs() / 60 % 60,
        time.as_secs() % 60,
    );
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes}:{seconds:02} min"),
        _ => format!("{hours}:{minutes:02}:{seconds:02} h"),
    }
}
