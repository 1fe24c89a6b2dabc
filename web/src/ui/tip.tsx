/** What the pointer rests on, beside it; pictures say the same in words elsewhere. */
export function Tip({ tip, x, y }: { tip: { title: string; lines: string[] }; x: number; y: number }) {
  const flip = x > 520 || (innerWidth < 700 && x > 180);
  return (
    <div class={flip ? "tip left" : "tip"} style={{ left: `${x}px`, top: `${y}px` }} aria-hidden="true">
      <strong>{tip.title}</strong>
      {tip.lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
    </div>
  );
}
