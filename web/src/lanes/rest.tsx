import type { RestOfThreads as Rest } from "../payload/recording";
import { Duration, Integer } from "../ui/figure";

/** Says what the lanes leave out: the page stays small, and nothing is dropped in silence. */
export function RestOfThreads({ rest, shown }: { rest: Rest; shown: number }) {
  const kinds = Object.entries(rest.by_kind)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ");
  return (
    <p class="rest">
      Lanes are drawn for the {shown} threads that ran longest. The other <Integer value={rest.threads} /> threads (
      {kinds}) together ran for <Duration value={rest.running_ns} />, were runnable for{" "}
      <Duration value={rest.runnable_ns} /> and blocked for <Duration value={rest.blocked_ns} />, with{" "}
      <Integer value={rest.switches} /> switches; they count in every figure of this report, and{" "}
      <code>headway threads</code> lists them.
    </p>
  );
}
