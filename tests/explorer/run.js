// node run.js: reads {core, answers, settings} from stdin, writes a line of JSON for each setting.
const vm = require("vm");
const { core, answers, settings } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const names = [...core.matchAll(/^function (\w+)/gm)].map((match) => match[1]);
const bocce = vm.runInNewContext(`${core};({${names}})`);
const answer = vm.runInNewContext(`${answers};answers`);
for (const given of settings) console.log(answer(bocce, given));
