package burst.controller.action

import burst.controller.limits.MinuteUsed
import burst.controller.scheduler.Refusal
import burst.controller.store.Identity
import burst.protocol.{FlareId, JsonText, Origin}
import io.circe.Json
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** One call of an action: a flare of one worker, or of a sequence's components one after the other.
  *
  * @param caller
  *   the namespace that it counts for, and that owns its record
  * @param payload
  *   an object over the action's parameters, or an array instead of them
  * @param text
  *   the payload, if the caller has it as text: many calls with one payload share it
  * @param cause
  *   the invocation that this one is a part of
  * @param origin
  *   the request
  */
final case class Invocation(
    caller: Identity,
    action: Action,
    payload: Json,
    origin: Origin,
    cause: Option[FlareId] = None,
    text: Option[JsonText] = None
):
  /** The action's input: the payload over its parameters, or instead of them. */
  def arguments: Json = payload.asObject.fold(payload): own =>
    Json.fromFields(action.parameters.toIterable ++ own.toIterable)

/** How an invocation ended, in OpenWhisk's words; its number on the wire is its position here. */
enum ActivationStatus(val text: String):
  case Success extends ActivationStatus("success")
  case ApplicationError extends ActivationStatus("application error")
  case DeveloperError extends ActivationStatus("action developer error")
  case InternalError extends ActivationStatus("whisk internal error")

/** The record of an invocation, or of a trigger that fired. */
final case class Activation(head: ActivationHead, result: Json, logs: Vector[String] = Vector.empty):
  export head.{annotations, duration, end, id, name, namespace, start, status, version}

/** The outcome of a call that waits. */
enum Invoked:
  case Ended(activation: Activation)

  /** The wait is over and the invocation is still running. */
  case Running(id: FlareId)

/** Why an invocation is not begun. */
enum InvocationRefusal:
  case RateLimited(used: MinuteUsed)

  /** The payload sets a parameter that is final in the action. */
  case FinalParameter(name: String)
  case PayloadTooLarge(limit: Long)

  /** The action is a sequence with a component that the caller may not invoke. */
  case NotEntitled(component: ActionName)

  /** The action existed when it was called, but no longer when it was to be begun. */
  case Gone(problem: ActionProblem)

  /** The scheduler rejected it. */
  case Refused(refusal: Refusal)

trait Invocations:
  /** Invokes an action: completes once it is stored, or, with a `limit`, waits for its end for that long. */
  def invoke(
      invocation: Invocation,
      limit: Option[FiniteDuration]
  ): Future[Either[InvocationRefusal, Invoked]]

  /** Stores the record of something that was no flare, such as a trigger that fired. */
  def record(activation: Activation): Future[Unit]
