// Google Benchmark with bytes, items, counters, arguments and complexity.
#include <benchmark/benchmark.h>
#include <cstring>
#include <vector>

static void copy(benchmark::State& state) {
  std::vector<char> from(state.range(0)), to(state.range(0));
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetItemsProcessed(state.iterations());
  state.SetComplexityN(state.range(0));
  state.counters["size"] = state.range(0);
  state.counters["per_second"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(copy)->Arg(8)->Arg(4096)->UseRealTime();
BENCHMARK(copy)->Range(8, 8 << 10)->Complexity();
BENCHMARK(copy)->Arg(64)->Threads(2);
BENCHMARK_MAIN();
