// Templates of generated files: what they become, and that no wrong name passes, also in lines that
// are left out.
#include "backends/common/template.h"

#include <gtest/gtest.h>

#include "support/bug.h"

namespace qc {
namespace {

/// What is wrong with a template; empty where nothing is.
std::string wrong(std::string_view text, const Holes& holes) {
  try {
    expand(text, holes);
    return "";
  } catch (const Bug& bug) {
    return bug.what();
  }
}

TEST(Template, HolesAreFilledAndOtherTextStaysAsItIs) {
  EXPECT_EQ(expand("int ${name}_run(void) {\n  return ${n} % 2;  /* {} $ */\n}\n",
                   {{"name", "m"}, {"n", 7}}),
            "int m_run(void) {\n  return 7 % 2;  /* {} $ */\n}\n");
  EXPECT_EQ(expand("%# nothing of this\n%text body\n%text none\nend\n",
                   {{"body", "a\nb\n"}, {"none", ""}}),
            "a\nb\nend\n");
  EXPECT_EQ(expand("f(x${state?, void *state}, ${file?weights:NULL})\n",
                   {{"state", true}, {"file", false}}),
            "f(x, void *state, NULL)\n");
}

TEST(Template, BlocksAreTakenByFlagsAndTexts) {
  constexpr std::string_view kText = "%if a\n1\n%if not b\n2\n%else\n3\n%end\n%else\n4\n%end\n5\n";
  EXPECT_EQ(expand(kText, {{"a", true}, {"b", false}}), "1\n2\n5\n");
  EXPECT_EQ(expand(kText, {{"a", "text"}, {"b", "text"}}), "1\n3\n5\n");
  EXPECT_EQ(expand(kText, {{"a", ""}, {"b", true}}), "4\n5\n");
}

TEST(Template, RowsAreTakenOneAfterTheOther) {
  constexpr std::string_view kText = "%each r\n${x} of ${n}${y? with y}\n%end\n";
  const TemplateRows rows{{"x", "y"}, {{"a", ""}, {"b", "yes"}}};
  EXPECT_EQ(expand(kText, {{"r", rows}, {"n", "m"}}), "a of m\nb of m with y\n");
  EXPECT_EQ(expand(kText, {{"r", TemplateRows{{"x", "y"}, {}}}, {"n", "m"}}), "");
}

TEST(Template, WrongNamesAreFoundWhereverTheyStand) {
  EXPECT_EQ(wrong("\n${nam}\n", {{"name", "m"}}), "template, line 2: there is no hole 'nam'");
  EXPECT_EQ(wrong("%if a\n${nam}\n%end\n", {{"a", false}}),
            "template, line 2: there is no hole 'nam'");
  EXPECT_EQ(wrong("%each r\n${y}\n%end\n", {{"r", TemplateRows{{"x"}, {}}}}),
            "template, line 2: there is no hole 'y'");
  EXPECT_EQ(wrong("text\n", {{"name", "m"}}), "template: no line names 'name'");
}

TEST(Template, WrongBlocksAndKindsAreFound) {
  EXPECT_EQ(wrong("%if a\n1\n", {{"a", true}}), "template, line 3: a block without %end");
  EXPECT_EQ(wrong("1\n%end\n", {}), "template, line 2: '%end' without a block");
  EXPECT_EQ(wrong("%when a\n", {{"a", true}}), "template, line 1: the directive '%when a'");
  EXPECT_EQ(wrong("${a\n", {{"a", true}}), "template, line 1: a hole without '}'");
  EXPECT_EQ(wrong("${a}\n", {{"a", true}}), "template, line 1: 'a' is no text");
  EXPECT_EQ(wrong("%each a\n%end\n", {{"a", "text"}}), "template, line 1: 'a' has no rows");
}

}  // namespace
}  // namespace qc
