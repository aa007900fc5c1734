package burst.controller.builtin

import burst.controller.action.{BuiltIn, Invocation}
import burst.controller.alarm.*
import burst.controller.definition.EntityName
import burst.controller.store.{AlarmRefusal, AlarmStore, Blocking}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import java.time.Instant
import java.time.temporal.ChronoUnit

/** `/whisk.system/alarms`: the actions that clients call when they create, change and delete a trigger with
  * one of these feeds. The trigger's owner is the caller: the `authKey` that clients send is neither read nor
  * kept.
  */
final class Alarms(alarms: AlarmStore, blocking: Blocking, now: () => Instant = () => Instant.now()):
  import Alarms.*

  /** The feeds by name. */
  def all: Map[String, BuiltIn] = AlarmFeed.values
    .map: feed =>
      val builtIn: BuiltIn = invocation =>
        blocking(answer(
          feed,
          invocation
        ).fold(problem => Json.obj("error" -> problem.message.asJson), identity))
      feed.name -> builtIn
    .toMap

  private def answer(feed: AlarmFeed, invocation: Invocation): Either[AlarmProblem, Json] =
    val namespace = invocation.caller.namespace
    // Truncated to the database's precision, as alarms are compared by it.
    val moment = now().truncatedTo(ChronoUnit.MICROS)
    for
      arguments <- invocation.arguments.asObject.toRight(AlarmProblem.InputNotAnObject)
      trigger <- triggerOf(arguments, namespace)
      request = AlarmRequest(arguments, moment)
      result <- arguments("lifecycleEvent").flatMap(_.asString).getOrElse("CREATE") match
        case "CREATE" => create(namespace, trigger, feed, request, moment)
        case "READ" => found(namespace, trigger).map(shown)
        case "UPDATE" => change(namespace, trigger)(updated(feed, request, moment))
        case "PAUSE" => change(namespace, trigger)(there => Right(there.stopped("it is paused", moment)))
        case "UNPAUSE" => change(namespace, trigger)(there => Right(there.resumed(moment)))
        case "DELETE" =>
          // Succeeds even if the alarm was deleted with its trigger.
          alarms.delete(namespace, trigger)
          Right(Success)
        case _ => Left(AlarmProblem.UnknownEvent(LifecycleEvents))
    yield result

  private def create(
      namespace: String,
      trigger: String,
      feed: AlarmFeed,
      request: AlarmRequest,
      moment: Instant
  ): Either[AlarmProblem, Json] =
    for
      schedule <- request.schedule(feed, None)
      payload <- request.payload
      most <- request.most
      due = schedule.after(moment)
      alarm =
        Alarm(namespace, trigger, schedule, payload.getOrElse(JsonObject.empty), due, most, None, moment)
      _ <- alarms.create(alarm).left.map:
        case AlarmRefusal.NoTrigger => AlarmProblem.NoTrigger(trigger)
        case AlarmRefusal.Exists => AlarmProblem.Exists(trigger)
    yield Success

  private def updated(feed: AlarmFeed, request: AlarmRequest, moment: Instant)(
      there: Alarm
  ): Either[AlarmProblem, Alarm] =
    for
      schedule <- request.schedule(feed, Some(there.schedule))
      payload <- request.payload
      most <- request.most
    yield there
      .copy(
        schedule = schedule,
        payload = payload.getOrElse(there.payload),
        remaining = most.orElse(there.remaining)
      )
      .resumed(moment)

  private def change(namespace: String, trigger: String)(
      next: Alarm => Either[AlarmProblem, Alarm]
  ): Either[AlarmProblem, Json] =
    for
      there <- found(namespace, trigger)
      changed <- next(there)
      _ <- Either.cond(alarms.replace(there, changed), (), AlarmProblem.Conflict(trigger))
    yield Success

  private def found(namespace: String, trigger: String): Either[AlarmProblem, Alarm] =
    alarms.find(namespace, trigger).toRight(AlarmProblem.NoAlarm(trigger))

object Alarms:
  private val LifecycleEvents = Seq("CREATE", "READ", "UPDATE", "DELETE", "PAUSE", "UNPAUSE")
  private val Success = Json.obj("status" -> "success".asJson)

  /** Reads the name of one of the caller's triggers: `/NAMESPACE/NAME`, or `NAME`. */
  private def triggerOf(arguments: JsonObject, namespace: String): Either[AlarmProblem, String] =
    val parts = arguments("triggerName").flatMap(_.asString).map(_.stripPrefix("/").split("/", -1).toVector)
    parts match
      case Some(Vector(name)) if EntityName.isValid(name) => Right(name)
      case Some(Vector(`namespace` | "_", name)) if EntityName.isValid(name) => Right(name)
      case Some(_) => Left(AlarmProblem.TriggerOfOthers(namespace))
      case None => Left(AlarmProblem.Missing("triggerName"))

  private def shown(alarm: Alarm): Json =
    val own = alarm.schedule.times match
      case Times.Cron(expression, zone) =>
        Seq("cron" -> expression.text.asJson, "timezone" -> zone.getId.asJson)
      case Times.Every(interval, first) =>
        Seq("minutes" -> interval.toMinutes.asJson, "startDate" -> first.toEpochMilli.asJson)
      case Times.Once(at, afterwards) =>
        val deletes = afterwards match
          case AfterOnce.Keep => "false"
          case AfterOnce.DeleteTrigger => "true"
          case AfterOnce.DeleteRules => "rules"
        Seq("date" -> at.toEpochMilli.asJson, "deleteAfterFire" -> deletes.asJson)
    val bounds = Seq("startDate" -> alarm.schedule.start, "stopDate" -> alarm.schedule.stop).collect:
      case (name, Some(at)) => name -> at.toEpochMilli.asJson
    val left = alarm.remaining.map(left => "triggersLeft" -> left.asJson)
    val config = Seq(
      "name" -> alarm.trigger.asJson,
      "namespace" -> alarm.namespace.asJson,
      "payload" -> alarm.payload.asJson
    ) ++ own ++ bounds ++ left
    val reason = alarm.reason.map: message =>
      "reason" -> Json.obj("kind" -> "AUTO".asJson, "message" -> message.asJson)
    val status = Seq(
      "active" -> alarm.due.isDefined.asJson,
      "dateChanged" -> alarm.changed.toEpochMilli.asJson,
      "dateChangedISO" -> alarm.changed.truncatedTo(ChronoUnit.SECONDS).toString.asJson
    ) ++ reason
    Json.obj("config" -> Json.fromFields(config), "status" -> Json.fromFields(status))
