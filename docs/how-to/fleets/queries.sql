-- Five questions to a folder of results: lake/run=NAME/results.parquet, one folder for each run, made by
--   mkdir -p lake; for run in runs/*; do dyno show "$run" --format parquet -o "lake/run=$(basename "$run")"; done
-- Each begins with its question; a statement ends with a semicolon. Times are nanoseconds. A figure here is the
-- median of its trials' own quantiles, without an interval: what is to be decided is decided by dyno compare and
-- dyno check. Trials that the host disturbed are left out (counted).

-- Which stack is the fastest of each experiment, payload and wait, in all runs of one machine?
SELECT machine, experiment, payload_bytes, wait, arg_min(stack, middle) AS fastest, min(middle) / 1000 AS p50_us
FROM (
  SELECT machine, experiment, payload_bytes, wait, stack, median(p50) AS middle
  FROM read_parquet('lake/*/results.parquet', union_by_name = true)
  WHERE is_headline AND counted AND NOT is_floor AND NOT is_loopback
  GROUP BY ALL
)
GROUP BY ALL
ORDER BY ALL;

-- How did one figure of each stack change from run to run?
SELECT stack, experiment, payload_bytes, wait, run, CAST(min(run_started) AS VARCHAR) AS started, median(p50) / 1000 AS p50_us,
       sum(lost) / nullif(sum(offered), 0) AS lost_share
FROM read_parquet('lake/*/results.parquet', union_by_name = true)
WHERE is_headline AND counted
GROUP BY ALL
ORDER BY stack, experiment, payload_bytes, wait, started;

-- What did each machine measure of the same load, side by side?
SELECT experiment, payload_bytes, wait, stack, map_from_entries(list((machine, middle) ORDER BY machine)) AS p50_ns
FROM (
  SELECT machine, experiment, payload_bytes, wait, stack, median(p50) AS middle
  FROM read_parquet('lake/*/results.parquet', union_by_name = true)
  WHERE is_headline AND counted
  GROUP BY ALL
)
GROUP BY ALL
ORDER BY ALL;

-- How much of each run did the host disturb, and what was it?
SELECT run, count(*) AS trials, count(disturbed) AS disturbed_trials, any_value(disturbed) AS an_example
FROM read_parquet('lake/*/results.parquet', union_by_name = true)
WHERE is_headline AND outcome = 'completed'
GROUP BY run
ORDER BY run;

-- What does a microsecond less cost: CPU of a message beside its p50?
SELECT experiment, payload_bytes, wait, stack, median(p50) / 1000 AS p50_us,
       median(cpu_ns_per_message) / 1000 AS cpu_us_per_message
FROM read_parquet('lake/*/results.parquet', union_by_name = true)
WHERE is_headline AND counted
GROUP BY ALL
ORDER BY experiment, payload_bytes, wait, p50_us;
