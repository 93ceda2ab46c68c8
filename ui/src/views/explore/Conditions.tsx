// Conditions as chips, and a field that completes keys and values.
import { useRef, useState } from "preact/hooks";
import type { TargetedKeyboardEvent } from "preact";
import { useAnswer } from "@/api/answer";
import type { AttributeKeysAnswer, AttributeValuesAnswer } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";
import { useKeys } from "@/keys/keys";
import { useRested } from "@/state/useRested";
import { conditionWords, GRAMMAR, typedSoFar } from "./condition_text";
import { valuesPath } from "./attribute_path";
import { completions, faultOf, keyOf, withCondition, withoutCondition, type Completion } from "./conditions";
import type { Show } from "./Explorer";
import { rangeParams } from "@/time/range";
import type { Words } from "./words";

interface Props {
  readonly words: Words;
  readonly show: Show;
  /** What the server has against the conditions, in its words. */
  readonly refused: string | undefined;
}

export function Conditions(props: Props) {
  const { words, show } = props;
  return (
    <div class="conditions">
      {words.where.map((condition) => (
        <button
          key={condition}
          class="chip"
          aria-label={`take ${conditionWords(condition)} away`}
          title={condition}
          onClick={() => show(withoutCondition(words, condition))}
        >
          <span>{conditionWords(condition)}</span> <span aria-hidden="true">×</span>
        </button>
      ))}
      <ConditionField {...props} />
    </div>
  );
}

const RESTS_MILLISECONDS = 150;

function useCompletions(typed: string, active: boolean, words: Words): Completion[] {
  const range = rangeParams(words.range);
  const keys = useAnswer<AttributeKeysAnswer>(active ? "attributes" : undefined, range).data?.keys ?? [];
  const key = keyOf(typed);
  const path = active && key !== undefined ? valuesPath(key) : undefined;
  // What is typed of the value, once the keys rest: among thousands it may be none of the most frequent.
  const prefix = useRested(typedSoFar(typed).rest, RESTS_MILLISECONDS);
  const params = { ...range, service: words.service, limit: 200, prefix };
  const values = useAnswer<AttributeValuesAnswer>(path, params).data;
  return active ? completions(typed, keys, values?.key === key ? (values?.values ?? []) : []) : [];
}

function ConditionField({ words, show, refused }: Props) {
  const [typed, setTyped] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const told = problem ?? refused;
  const offered = useCompletions(typed, open, words);
  useKeys("Explorer", [{ key: "/", what: "add a condition", run: () => field.current?.focus() }]);

  const type = (text: string): void => {
    setTyped(text);
    setChosen(-1);
    setProblem(undefined);
    setOpen(true);
  };
  const add = (condition: string): void => {
    const fault = faultOf(condition);
    if (fault) return setProblem(fault);
    type("");
    setOpen(false);
    show(withCondition(words, condition));
  };
  const take = ({ text, whole }: Completion): void => (whole ? add(text) : type(text));
  const press = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const completion = offered[chosen];
    if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, offered.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, -1));
    else if (event.key === "Enter" && completion) take(completion);
    else if (event.key === "Enter" && typed !== "") add(typed.trim());
    else if (event.key === "Tab" && !event.shiftKey && typed !== "" && offered[0]) take(completion ?? offered[0]);
    else if (event.key === "Escape" && open) setOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <div class="condition-field">
      <input
        ref={field}
        value={typed}
        placeholder="add a condition: tenant=acme, amount>=500, !tenant"
        title={GRAMMAR}
        role="combobox"
        aria-label={`Add a condition: ${GRAMMAR}`}
        aria-autocomplete="list"
        aria-expanded={offered.length > 0}
        aria-controls="condition-completions"
        aria-activedescendant={chosen >= 0 ? `completion-${chosen}` : undefined}
        aria-invalid={told !== undefined}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => type(event.currentTarget.value)}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      <ul id="condition-completions" role="listbox" aria-label="Completions" hidden={offered.length === 0}>
        {offered.map((completion, at) => (
          <li
            key={completion.text}
            id={`completion-${at}`}
            role="option"
            aria-selected={at === chosen}
            onPointerDown={(event) => {
              event.preventDefault();
              take(completion);
            }}
          >
            <span>{completion.text}</span>
            {completion.note && <span class="faint">{completion.note}</span>}
            {completion.spans !== undefined && <span class="faint">{formatCount(completion.spans)}</span>}
          </li>
        ))}
      </ul>
      {told && (
        <span class="field-problem" role="alert">
          {told}
        </span>
      )}
    </div>
  );
}
