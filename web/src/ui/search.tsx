// A search field, marked where what is typed is no valid pattern.

interface Props {
  query: string;
  placeholder: string;
  isInvalid: boolean;
  onQuery: (query: string) => void;
}

/** The search field. */
export function Search({ query, placeholder, isInvalid, onQuery }: Props) {
  return (
    <label>
      <span>Search</span>
      <input
        type="search"
        value={query}
        placeholder={placeholder}
        aria-invalid={isInvalid}
        onInput={(event) => onQuery(event.currentTarget.value)}
      />
    </label>
  );
}
