package burst.controller.action

import io.circe.Json
import scala.concurrent.Future

/** An action of the platform that the controller runs itself: it needs no machine, and no place in the queue.
  */
trait BuiltIn:
  /** Returns the result, in the form of any action's: with a field `error` if it failed. It completes soon,
    * and bounds its own waits.
    */
  def run(invocation: Invocation): Future[Json]

/** The built-in actions. Code that invokes actions looks here first, and records what it runs as any other
  * invocation.
  *
  * @param all
  *   the actions by `PACKAGE/NAME`
  */
final class BuiltIns(all: Map[String, BuiltIn]):
  def of(action: Action): Option[BuiltIn] =
    Option.when(action.target.namespace == BuiltIns.Namespace)(action.target.path).flatMap(all.get)

object BuiltIns:
  /** The namespace of their packages. Nobody has a key to it. */
  val Namespace = "whisk.system"

  /** The kind of their definitions. */
  val Kind = "builtin"
