package burst.controller.http

import burst.controller.trigger.{EntityRef, Rule, Trigger}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}

/** Triggers and rules as OpenWhisk's clients see them. */
object TriggerViews:
  def trigger(trigger: Trigger): Json =
    val shown = triggerHead(trigger)
      .add("parameters", KeyValues.show(trigger.parameters))
      .add("limits", Json.obj())
    val rules = trigger.rules.map: rules =>
      Json.fromFields(rules.map: rule =>
        s"${trigger.namespace}/${rule.name}" ->
          Json.obj("action" -> ref(rule.action), "status" -> rule.status.text.asJson))
    rules.fold(shown)(shown.add("rules", _)).asJson

  /** Shows a trigger as lists do. */
  def summary(trigger: Trigger): Json = triggerHead(trigger).asJson

  private def triggerHead(trigger: Trigger): JsonObject = JsonObject(
    "namespace" -> trigger.namespace.asJson,
    "name" -> trigger.name.asJson,
    "version" -> trigger.version.asJson,
    "publish" -> trigger.publish.asJson,
    "annotations" -> KeyValues.show(trigger.annotations),
    "updated" -> trigger.updated.millis.asJson
  )

  def rule(rule: Rule): Json = ruleHead(rule).add("status", rule.status.text.asJson).asJson

  /** Shows a rule as lists do. */
  def summary(rule: Rule): Json = ruleHead(rule).asJson

  private def ruleHead(rule: Rule): JsonObject = JsonObject(
    "namespace" -> rule.namespace.asJson,
    "name" -> rule.name.asJson,
    "version" -> rule.version.asJson,
    "publish" -> rule.publish.asJson,
    "trigger" -> ref(EntityRef(rule.namespace, rule.trigger)),
    "action" -> ref(rule.action),
    "annotations" -> KeyValues.show(rule.annotations),
    "updated" -> rule.updated.millis.asJson
  )

  private def ref(entity: EntityRef): Json =
    Json.obj("path" -> entity.path.asJson, "name" -> entity.name.asJson)
