// The verdict of a recording: the findings, and the figures that a person reads first.

import type { Parallelism, Payload } from "../payload/recording";
import { Duration, Percent, Rounded } from "./figure";
import { Section } from "./section";
import { Tile } from "./tile";

/** The findings that a person reads first. */
export function Verdict({ payload }: { payload: Payload }) {
  const [first, ...others] = payload.findings;
  return (
    <Section id="verdict" title="Verdict">
      {first ? <p class="headline">{first.text}</p> : <p class="headline">This recording holds no findings.</p>}
      {payload.parallelism && <Tiles wall_ns={payload.wall_ns} parallelism={payload.parallelism} />}
      {others.length > 0 && (
        <ul class="findings">
          {others.map((finding) => (
            <li key={finding.id}>{finding.text}</li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Tiles({ wall_ns, parallelism }: { wall_ns: number; parallelism: Parallelism }) {
  const running = Object.values(parallelism.running_core_ns).reduce((sum, ns) => sum + ns, 0);
  const part = (ns: number) => (running > 0 ? ns / running : 0);
  const stolen = parallelism.stolen_core_ns;
  return (
    <dl class="tiles">
      <Tile label="Wall time" note="of the recording">
        <Duration value={wall_ns} />
      </Tile>
      <Tile label="Mean active threads" note={usually(parallelism)}>
        <Rounded value={parallelism.mean_active} />
      </Tile>
      <Tile label="Mean running threads" note={`${parallelism.max_running} at most`}>
        <Rounded value={parallelism.mean_running} />
      </Tile>
      <Tile label="One active thread" note="share of the wall time">
        <Percent value={parallelism.serial_share} />
      </Tile>
      <Tile label="No active thread" note="share of the wall time">
        <Percent value={parallelism.idle_share} />
      </Tile>
      <Tile label="GC" note="share of the time on CPUs">
        <Percent value={part(parallelism.running_core_ns.gc)} />
      </Tile>
      <Tile label="JIT" note="share of the time on CPUs">
        <Percent value={part(parallelism.running_core_ns.jit)} />
      </Tile>
      <Tile label="Stolen" note={stolen === null ? "this mode can't tell" : "by the host, of the time on CPUs"}>
        {stolen === null ? <span class="unknown">unknown</span> : <Percent value={part(stolen)} />}
      </Tile>
    </dl>
  );
}

/** The range for nine tenths of the time, and the maximum, which may have lasted for no more than a microsecond. */
function usually({ percentiles, max_active }: Parallelism): string {
  const at = new Map(percentiles);
  const [low, high] = [at.get(5), at.get(95)];
  return low === undefined || high === undefined
    ? `${max_active} at most`
    : `${low === high ? low : `${low} to ${high}`} for 90% of the time, ${max_active} at most`;
}
