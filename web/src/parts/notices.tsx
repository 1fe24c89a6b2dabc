import type { Notice } from "../payload";
import { Section } from "./section";

const NONE = "None: no record was lost, and every check of the recording held.";

export function Notices({ notices, none = NONE }: { notices: Notice[]; none?: string }) {
  if (notices.length === 0) {
    return (
      <Section id="warnings" title="Warnings">
        <p class="missing">{none}</p>
      </Section>
    );
  }
  return (
    <Section id="warnings" title={notices.length === 1 ? "1 warning" : `${notices.length} warnings`}>
      <ul class="notices">
        {notices.map((notice) => (
          <li key={notice.id + notice.message}>
            <p>
              <span class="notice-id">{notice.id}</span> {notice.message}
            </p>
            {notice.remedy && (
              <p class="remedy">
                <span class="sr-only">Remedy: </span>
                <code>{notice.remedy}</code>
              </p>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
