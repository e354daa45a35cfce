// HdrHistogram for JavaScript: a percentile text, its CSV or an interval log of values by a seed.
const hdr = require("hdr-histogram-js");
const [form, seed] = [process.argv[2], Number(process.argv[3])];
let state = seed * 7919 + 1;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const value = () => Math.floor(100 + 900 * random() + (random() < 0.02 ? 1e5 * random() * seed : 0));
const made = (n) => {
  const h = hdr.build({ numberOfSignificantValueDigits: 1 + (seed % 4) });
  for (let i = 0; i < n; i++) h.recordValue(value());
  return h;
};
if (form === "hlog") {
  const writer = new hdr.HistogramLogWriter((text) => process.stdout.write(text));
  writer.outputLogFormatVersion();
  writer.outputLegend();
  for (let i = 0; i < seed; i++) {
    const h = made(10 * seed);
    h.startTimeStampMsec = i * 1000;
    h.endTimeStampMsec = i * 1000 + 1000;
    writer.outputIntervalHistogram(h);
  }
} else {
  process.stdout.write(made(50 * seed).outputPercentileDistribution(5, 1, form === "csv"));
}
