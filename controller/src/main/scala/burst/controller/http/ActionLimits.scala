package burst.controller.http

import burst.controller.action.Sequences
import burst.controller.limits.{NamespaceLimits, PlatformLimits}
import io.circe.Json
import io.circe.syntax.*
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** The limits that OpenWhisk's clients see. Times are in milliseconds, memory and logs in MB, unless stated
  * otherwise.
  */
final class ActionLimits(platform: PlatformLimits):
  import ActionLimits.*

  /** Returns a namespace's limits. */
  def of(limits: NamespaceLimits): Json = Json.obj(
    "invocationsPerMinute" -> limits.invocationsPerMinute.asJson,
    "concurrentInvocations" -> limits.concurrentSlots.asJson,
    "firesPerMinute" -> limits.firesPerMinute.asJson,
    "allowedKinds" -> Seq("*").asJson,
    "storeActivations" -> true.asJson,
    "minActionMemory" -> LeastMemory.asJson,
    "maxActionMemory" -> limits.memory.asJson,
    "minActionTimeout" -> LeastTimeout.toMillis.asJson,
    "maxActionTimeout" -> platform.timeout.toMillis.asJson,
    "minActionLogs" -> 0.asJson,
    "maxActionLogs" -> MostLogs.asJson,
    "minActionConcurrency" -> 1.asJson,
    "maxActionConcurrency" -> MostConcurrency.asJson,
    "maxActionInstances" -> limits.concurrentSlots.asJson,
    "maxParameterSize" -> s"${EntityFields.MostParameters >> 20} MB".asJson
  )

  /** Returns the platform's limits, with memory and logs in bytes. */
  def ofPlatform: Json =
    val limits = platform.namespace
    val ranges = Seq(
      "min_action_duration" -> LeastTimeout.toMillis,
      "max_action_duration" -> platform.timeout.toMillis,
      "min_action_memory" -> bytes(LeastMemory),
      "max_action_memory" -> bytes(limits.memory),
      "min_action_logs" -> 0L,
      "max_action_logs" -> bytes(MostLogs)
    )
    val counts = Seq(
      "actions_per_minute" -> limits.invocationsPerMinute.toLong,
      "triggers_per_minute" -> limits.firesPerMinute.toLong,
      "concurrent_actions" -> limits.concurrentSlots.toLong,
      "sequence_length" -> Sequences.Most.toLong
    )
    val all = counts ++ ranges ++ ranges.map((name, value) => s"default_$name" -> value)
    Json.fromFields(all.map((name, value) => name -> value.asJson))

  private def bytes(megabytes: Long): Long = megabytes << 20

object ActionLimits:
  val LeastTimeout: FiniteDuration = 100.millis
  val LeastMemory = 128L
  val MostLogs = 10L

  /** The most calls that one container may run at once, for kinds that support it. */
  val MostConcurrency = 200L
