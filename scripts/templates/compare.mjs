// See compare.sh. Prints every difference and ends with 1 when one is not known, or when a known
// one is gone.
//
// A line of known_differences.txt: template and conversation (* for all), what differs and who is
// right.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';

const root = process.argv[2];
const golden = JSON.parse(
  readFileSync(join(root, 'testdata/golden/prompts_of_families.json'), 'utf8'),
);
const known = readFileSync(join(root, 'scripts/templates/known_differences.txt'), 'utf8')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => {
    const [template, conversation, ...reason] = line.split(/\s+/);
    return { template, conversation, reason: reason.join(' '), met: false };
  });

// What strftime_now of theirs sees: the conversation's time.
const RealDate = Date;
let nowMs = 0;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [nowMs] : args));
  }
};

function render(template, input, generate) {
  nowMs = input.now_unix_s * 1000;
  try {
    return template.render({
      ...input.kwargs,
      messages: structuredClone(input.messages),
      tools: structuredClone(input.tools),
      add_generation_prompt: generate,
      bos_token: golden.bos_token,
      eos_token: golden.eos_token,
    });
  } catch (error) {
    return { error: error.message };
  }
}

// Refusals are the same when both give the template's own reason.
function same(ours, theirs) {
  if (typeof ours === 'string' || typeof theirs === 'string') return ours === theirs;
  return ours.error.endsWith(`refuses this conversation: ${theirs.error}`);
}

// `full` is `bare` with one text inserted.
function isInsertion(bare, full) {
  if (typeof bare !== 'string' || typeof full !== 'string') return false;
  let at = 0;
  while (at < bare.length && bare[at] === full[at]) ++at;
  return full.length > bare.length && full.endsWith(bare.slice(at));
}

const shown = (value) => (typeof value === 'string' ? JSON.stringify(value) : `error: ${value.error}`);

function firstDifference(ours, theirs) {
  if (typeof ours !== 'string' || typeof theirs !== 'string') {
    return `    ours   ${shown(ours).slice(0, 200)}\n    theirs ${shown(theirs).slice(0, 200)}`;
  }
  let at = 0;
  while (at < ours.length && ours[at] === theirs[at]) ++at;
  const from = Math.max(0, at - 30);
  return `    ours   …${shown(ours.slice(from, at + 60))}\n    theirs …${shown(theirs.slice(from, at + 60))}`;
}

let compared = 0;
let different = 0;
let unknown = 0;
for (const [name, conversations] of Object.entries(golden.prompts)) {
  const source = readFileSync(join(root, 'testdata/templates', `${name}.jinja`), 'utf8');
  let template;
  try {
    template = new Template(source);
  } catch (error) {
    template = { render: () => { throw error; } };
  }
  for (const [conversation, ours] of Object.entries(conversations)) {
    const input = golden.inputs[ours.input];
    for (const [kind, generate] of [['prompt', true], ['bare', false]]) {
      const expected =
        typeof ours[kind] === 'number'
          ? Buffer.from(ours.prompt, 'utf8').subarray(0, ours[kind]).toString('utf8')
          : ours[kind];
      // The template would move the tools to the last question: all but them is compared.
      const theirs = render(
        template,
        ours.tools_inserted ? { ...input, tools: null } : input,
        generate,
      );
      ++compared;
      if (ours.tools_inserted && isInsertion(theirs, expected)) continue;
      if (same(expected, theirs)) continue;
      ++different;
      const reason = known.find(
        (entry) =>
          (entry.template === '*' || entry.template === name) &&
          (entry.conversation === '*' || entry.conversation === conversation),
      );
      if (reason) {
        reason.met = true;
        continue;
      }
      ++unknown;
      console.log(`${name}, ${conversation}, ${kind}:\n${firstDifference(expected, theirs)}`);
    }
  }
}
const gone = known.filter((entry) => !entry.met);
for (const entry of gone) {
  console.log(`no longer different: ${entry.template} ${entry.conversation} ${entry.reason}`);
}
console.log(
  `${compared} prompts compared, ${compared - different} the same, ` +
    `${different - unknown} known to differ, ${unknown} unknown to differ.`,
);
process.exit(unknown > 0 || gone.length > 0 ? 1 : 0);
