package burst.protocol

import burst.protocol.KebabCase.given
import io.circe.derivation.ConfiguredEnumCodec

enum LogStream derives ConfiguredEnumCodec:
  case Stdout, Stderr

/** What a pack has sent to the other packs of its flare, as counted by its program. */
final case class Traffic(messages: Long, bytes: Long)

/** What a pack reports while it runs, in the order in which it happened. `PackEnded` is always the last event
  * of a pack, even if its process died. The `text` of a log consists of lines separated by line feeds, the
  * first of which was written at `at`.
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
