package burst.protocol

import burst.protocol.KebabCase.given
import io.circe.derivation.ConfiguredEnumCodec

enum LogStream derives ConfiguredEnumCodec:
  case Stdout, Stderr

/** What a pack has sent to the others of its flare, as its program counts it. */
final case class Traffic(messages: Long, bytes: Long)

/** What a pack reports while it runs, in the order it happened. `PackEnded` is always the last event of a
  * pack, also when its process died. The `text` of a log is lines with line feeds between them, the first of
  * which was written at `at`.
  */
enum PackEvent:
  case Ready(endpoint: Option[String], at: Timestamp)
  case WorkerStarted(worker: Int, at: Timestamp)
  case Phase(worker: Int, name: String, at: Timestamp)
  case Log(worker: Option[Int], stream: LogStream, text: String, at: Timestamp)

  /** A piece of a worker's output, in order. */
  case Output(worker: Int, text: String)

  /** `output` is the last piece of the worker's output, or all of it. */
  case WorkerSucceeded(worker: Int, output: String, at: Timestamp)
  case WorkerFailed(worker: Int, error: Failure, at: Timestamp)
  case PackEnded(reusable: Boolean, error: Option[Failure], at: Timestamp, traffic: Option[Traffic] = None)
