//! What a tool says beside what Dyno says, in turns.

use crate::Outcome;

/// Asks both `times` times, prints each figure of both with its ratio, and in the end the median ratio with its interval.
///
/// `tool` says its figures in nanoseconds, in the order of `figures`; `dyno` says `None` where Dyno refuses one, as where
/// the host disturbed the trials. Such a turn is left out.
pub(super) fn turns(
    times: u32,
    figures: &[&str],
    tool: &dyn Fn() -> Result<Vec<f64>, String>,
    dyno: &dyn Fn() -> Result<Vec<Option<f64>>, String>,
) -> Outcome {
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); figures.len()];
    for turn in 0..times {
        // Which goes first changes from turn to turn.
        let (tool, dyno) = match turn % 2 {
            0 => {
                let tool = tool()?;
                (tool, dyno()?)
            }
            _ => {
                let dyno = dyno()?;
                (tool()?, dyno)
            }
        };
        for (i, figure) in figures.iter().enumerate() {
            let tool = tool[i];
            let Some(dyno) = dyno[i] else {
                println!("  {figure}: Dyno states none after these trials; the turn is left out");
                continue;
            };
            ratios[i].push(dyno / tool);
            println!(
                "  {figure}: tool {tool:>9.1} ns   Dyno {dyno:>9.1} ns   ratio {:.3}",
                dyno / tool
            );
        }
    }
    for (figure, ratios) in figures.iter().zip(&mut ratios) {
        println!("  {figure}: Dyno / tool {}", interval(ratios));
    }
    Ok(())
}

/// The median with the interval from the least to the largest: it misses the true median where all of n lie on one
/// side of it, with a probability of 2^(1-n).
pub(super) fn interval(ratios: &mut [f64]) -> String {
    ratios.sort_unstable_by(f64::total_cmp);
    let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else {
        return "without a turn".to_owned();
    };
    let n = ratios.len() as i32;
    let middle = (ratios[ratios.len() / 2] + ratios[(ratios.len() - 1) / 2]) / 2.0;
    let covers = 100.0 * (1.0 - 2f64.powi(1 - n));
    format!("{middle:.3}, {covers:.1} % interval {least:.3} to {most:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_says_how_sure_it_is() {
        let mut six = [1.02, 0.98, 1.0, 1.01, 0.99, 1.03];
        assert_eq!(interval(&mut six), "1.005, 96.9 % interval 0.980 to 1.030");
    }
}
