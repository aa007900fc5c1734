package burst.controller.web

import burst.controller.action.{Action, ActionName}
import burst.controller.store.Samples
import io.circe.parser.parse
import io.circe.{Json, JsonObject}

class WebRulesSuite extends munit.FunSuite:
  private def rules(annotations: String): WebRules =
    val definition = Samples.definition()
    WebRules.of(
      Action(
        ActionName("guest", None, "hello"),
        definition.copy(action = definition.action.copy(annotations = json(annotations))),
        json("""{"a":1,"empty":null}"""),
        json("""{"i":2}""")
      )
    )

  private def json(text: String): JsonObject = parse(text).toOption.flatMap(_.asObject).getOrElse(fail(text))

  test("an annotation is on only if it is true"):
    assert(rules("""{"web-export":true}""").exported)
    Seq("{}", """{"web-export":false}""", """{"web-export":"true"}""", """{"web-export":1}""").foreach:
      text =>
        assert(!rules(text).exported, text)
    val all = rules("""{"web-export":true,"raw-http":true,"web-custom-options":true,"final":true}""")
    assert(all.raw && all.customOptions)

  test("with final, parameters that have a value cannot be overridden, init parameters included"):
    assertEquals(rules("""{"final":true}""").finals, Set("a", "i"))
    assertEquals(rules("{}").finals, Set.empty)

  test("callers are admitted by the action's rule"):
    def access(value: String) = WebAccess.of(Some(parse(value).getOrElse(Json.Null)))
    def problem(value: String, known: Boolean, shown: String*) = access(value).problem(known, shown)
    assertEquals(problem("false", known = false), None)
    assertEquals(problem("null", known = false), None)
    assertEquals(problem("true", known = true), None)
    assertEquals(problem("true", known = false, "true"), Some(WebProblem.NeedsCredentials))
    assertEquals(problem("\"word\"", known = false, "word"), None)
    assertEquals(problem("1234", known = false, "1234"), None)
    assertEquals(problem("\"word\"", known = true), Some(WebProblem.NeedsSecret))
    assertEquals(problem("\"word\"", known = false, "word", "word"), Some(WebProblem.NeedsSecret))
    assertEquals(problem("\"word\"", known = false, "wor"), Some(WebProblem.NeedsSecret))
    assertEquals(problem("{}", known = true, "{}"), Some(WebProblem.NeedsSecret))
    assertEquals(problem("[]", known = true, ""), Some(WebProblem.NeedsSecret))
    assert(!access("\"word\"").toString.contains("word"))
