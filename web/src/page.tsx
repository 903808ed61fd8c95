// The page: chat on the left, the cache on the right; on a narrow screen one at a time.
import type { ComponentChildren } from "preact";
import { CacheCard } from "./cache/cache_card";
import { Chat } from "./chat/chat";
import { Doctor } from "./live/doctor";
import { Live } from "./live/live";
import { Header } from "./parts/header";
import { KeyPrompt } from "./parts/key_prompt";
import { PromptCard } from "./prompt/prompt_card";
import { Requests } from "./live/requests";
import { view, type View } from "./state/view";

const kViews: [View, string][] = [
  ["chat", "Chat"],
  ["prompt", "Prompt"],
  ["cache", "Tree"],
  ["live", "Live"],
  ["requests", "Requests"],
  ["doctor", "Doctor"],
];

function Section(props: { of: View; title: string; children: ComponentChildren }) {
  const id = `title-${props.of}`;
  return (
    <section
      class={`card ${props.of} ${view.value === props.of ? "front" : ""}`}
      aria-labelledby={id}
    >
      <h2 id={id}>{props.title}</h2>
      {props.children}
    </section>
  );
}

function Switch() {
  return (
    <nav class="switch" aria-label="Parts of the page">
      {kViews.map(([name, title]) => (
        <button
          key={name}
          type="button"
          aria-current={view.value === name ? "page" : undefined}
          onClick={() => (view.value = name)}
        >
          {title}
        </button>
      ))}
    </nav>
  );
}

export function Page() {
  return (
    <>
      <a class="skip" href="#message">
        To the message
      </a>
      <Header />
      <main>
        <div class={`left ${view.value === "chat" ? "front" : ""}`}>
          <Chat />
        </div>
        <div class={`right ${view.value === "chat" ? "" : "front"}`} tabIndex={0} role="region" aria-label="Server state">
          <Section of="prompt" title="The prompt">
            <PromptCard />
          </Section>
          <Section of="cache" title="Cache">
            <CacheCard />
          </Section>
          <Section of="live" title="Live">
            <Live />
          </Section>
          <Section of="requests" title="Requests">
            <Requests />
          </Section>
          <Section of="doctor" title="Doctor: the last day">
            <Doctor />
          </Section>
          <footer class="dim">
            <a href="./assets/licences.txt">Licences of what this page is made with</a>
          </footer>
        </div>
      </main>
      <Switch />
      <KeyPrompt />
    </>
  );
}
