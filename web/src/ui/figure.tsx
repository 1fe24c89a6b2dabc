// Figures rounded for people, each with its exact value as an attribute.

import { coreTime, duration, integer, number3, percent } from "./format";

interface Props {
  value: number;
}

/** A figure, rounded for people; its exact value goes along, for tools and for the tests that compare it with --json. */
export const Duration = ({ value }: Props) => <data value={String(value)}>{duration(value)}</data>;
export const CoreTime = ({ value }: Props) => <data value={String(value)}>{coreTime(value)}</data>;
export const Percent = ({ value }: Props) => <data value={String(value)}>{percent(value)}</data>;
export const Integer = ({ value }: Props) => <data value={String(value)}>{integer(value)}</data>;
export const Rounded = ({ value }: Props) => <data value={String(value)}>{number3(value)}</data>;

/** A duration that may be unknown: a dash, said aloud as "unknown". */
export function MaybeDuration({ value }: { value: number | null }) {
  return value === null ? (
    <span class="unknown">
      <span aria-hidden="true">–</span>
      <span class="sr-only">unknown</span>
    </span>
  ) : (
    <Duration value={value} />
  );
}
