// The head of a table.

interface Props {
  names: string[];
  /** Whether a column, by its number, has words, which begin at the left; figures end at the right. */
  hasWords?: (column: number) => boolean;
}

/** The head of a table: one line, a name for each column. */
export function Head({ names, hasWords }: Props) {
  return (
    <thead>
      <tr>
        {names.map((name, column) => (
          <th scope="col" key={name} class={hasWords?.(column) ? "text" : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
