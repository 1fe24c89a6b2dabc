/** A name of code, which a narrow place breaks behind a dot, but for one in a number: org.example.Store.put:4. */
export function Name({ text }: { text: string }) {
  const [first, ...rest] = text.split(/\.(?=\D)/);
  return (
    <>
      {first}
      {rest.map((part, i) => (
        <span key={i}>
          .<wbr />
          {part}
        </span>
      ))}
    </>
  );
}
