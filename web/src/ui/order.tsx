// Heads of tables by whose columns one can sort.
import { Name } from "./name";

/** The column that a table is sorted by, and which way. */
export interface Order {
  column: number;
  descending: boolean;
}

/** The order after a click on a column's name: the other way round if it is the one, else its largest first (names: A to Z). */
export function orderAfter(order: Order, column: number, isText: boolean): Order {
  if (order.column === column) return { column, descending: !order.descending };
  return { column, descending: !isText };
}

interface Props {
  columns: readonly { name: string; isText: boolean }[];
  order: Order;
  onOrder: (order: Order) => void;
}

/** A line of buttons, one for each column; the one that is sorted by says which way. */
export function SortableHead({ columns, order, onOrder }: Props) {
  return (
    <thead class="sortable">
      <tr>
        {columns.map((column, i) => (
          <th
            scope="col"
            key={`${i}-${column.name}`}
            aria-sort={i !== order.column ? "none" : order.descending ? "descending" : "ascending"}
          >
            <button type="button" onClick={() => onOrder(orderAfter(order, i, column.isText))}>
              <Name text={column.name} />
              <span aria-hidden="true">{i !== order.column ? "" : order.descending ? " ↓" : " ↑"}</span>
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}
