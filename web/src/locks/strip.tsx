// When a lock is waited for: the mean number of waiting threads in each bin, as bars.
import { useEffect } from "preact/hooks";
import { number3 } from "../ui/format";
import type { Span } from "../ui/span";
import { useTheme } from "../ui/theme";
import { useWidth } from "../ui/width";

const HEIGHT = 26;

interface Props {
  waiters: number[];
  /** The height of the strip stands for so many waiting threads. */
  top: number;
  contention: boolean;
  span: Span;
  wall_ns: number;
}

/** How many threads wait for a lock over time, as a strip. */
export function Strip({ waiters, top, contention, span, wall_ns }: Props) {
  const theme = useTheme();
  const [canvas, width] = useWidth<HTMLCanvasElement>();
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    element.width = Math.round(width * devicePixelRatio);
    element.height = Math.round(HEIGHT * devicePixelRatio);
    context.clearRect(0, 0, element.width, element.height);
    context.fillStyle = contention ? theme.runnable : theme.sleeping;
    const scale = element.width / (span.to - span.from);
    const bin = wall_ns / waiters.length;
    waiters.forEach((mean, i) => {
      const left = (i * bin - span.from) * scale;
      const right = left + bin * scale;
      if (mean <= 0 || right < 0 || left > element.width) return;
      const height = Math.max(devicePixelRatio, (mean / top) * element.height);
      context.fillRect(left, element.height - height, Math.max(1, right - left), height);
    });
  }, [canvas, width, theme, waiters, top, contention, span, wall_ns]);
  const most = waiters.reduce((a, b) => Math.max(a, b), 0);
  return (
    <canvas
      class="strip-canvas"
      ref={canvas}
      height={HEIGHT}
      role="img"
      aria-label={`Waiting threads over time: ${number3(most)} at most in a bin`}
    />
  );
}
