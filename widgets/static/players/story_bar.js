// StoryBar: which work of the engine is played, and for which group.
import { choice, h } from "../shared/dom.js";
import { widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";

const OF_GROUPS = "Offsets";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-stories", { "aria-label": "Stories" });
  const stories = model.get("_stories"), about = h("span", { class: "klw-sum" });
  const names = choice("Story", stories.map(([name]) => [name, name]), model.get("story"), (story) => {
    if (!model.choose({ story })) return false;
  });
  const group = h("select", {
    class: "klw-input klw-storygroup",
    "aria-label": "Group",
    onchange: () => model.choose({ group: group.value }),
  });
  frame.fill(h("header", { class: "klw-top" }, names.el, group, about));
  function show() {
    const story = model.get("story");
    names.show(story);
    const groups = model.get("_groups");
    group.replaceChildren(
      h("option", { value: "" }, "all groups"),
      ...groups.map((each) => h("option", { value: each }, each)),
    );
    group.value = model.get("group");
    group.hidden = story !== OF_GROUPS;
    about.textContent = about.title = stories.find(([name]) => name === story)?.[1] ?? "";
    frame.stats.draws++;
  }
  show();
  return frame.follow({ story: show, group: show, _groups: show });
}

export default { render: withKernel(render, { isWhole: true }) };
