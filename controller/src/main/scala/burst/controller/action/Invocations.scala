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
  *   whom it counts for, and whose record it is
  * @param payload
  *   an object over the action's parameters, or an array in their place
  * @param text
  *   the payload, where whoever calls has it as text: of many calls with one payload, all have the same
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
  /** What the action is given: the payload over its parameters, or in their place. */
  def arguments: Json = payload.asObject.fold(payload): own =>
    Json.fromFields(action.parameters.toIterable ++ own.toIterable)

/** How an invocation ended, in OpenWhisk's words; its number on the wire is its place here. */
enum ActivationStatus(val text: String):
  case Success extends ActivationStatus("success")
  case ApplicationError extends ActivationStatus("application error")
  case DeveloperError extends ActivationStatus("action developer error")
  case InternalError extends ActivationStatus("whisk internal error")

/** The record of an invocation, of a trigger that fired too. */
final case class Activation(head: ActivationHead, result: Json, logs: Vector[String] = Vector.empty):
  export head.{annotations, duration, end, id, name, namespace, start, status, version}

/** What a call that waits comes to. */
enum Invoked:
  case Ended(activation: Activation)

  /** The wait is over and it goes on. */
  case Running(id: FlareId)

/** Why an invocation is not begun. */
enum InvocationRefusal:
  case RateLimited(used: MinuteUsed)

  /** The payload names a parameter that the action has for good. */
  case FinalParameter(name: String)
  case PayloadTooLarge(limit: Long)

  /** It is a sequence with a component that the caller may not invoke. */
  case NotEntitled(component: ActionName)

  /** The action was there when it was called, and no more by the time that it was to be begun. */
  case Gone(problem: ActionProblem)

  /** The scheduler did not take it. */
  case Refused(refusal: Refusal)

trait Invocations:
  /** Returns once it is stored, and waits for its end for `limit` if there is one. */
  def invoke(
      invocation: Invocation,
      limit: Option[FiniteDuration]
  ): Future[Either[InvocationRefusal, Invoked]]

  /** Stores the record of what was no flare, such as of a trigger that fired. */
  def record(activation: Activation): Future[Unit]
