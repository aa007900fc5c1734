package burst.controller.action

import io.circe.Json
import scala.concurrent.Future

/** An action of the platform's own that the controller runs itself: it needs no machine, and no place among
  * flares.
  */
trait BuiltIn:
  /** What it comes to, as any action's result: with a field `error` where it failed. It ends soon, and bounds
    * its own waits.
    */
  def run(invocation: Invocation): Future[Json]

/** Code that invokes actions asks here first, and records what was run here as any other invocation.
  *
  * @param all
  *   by `PACKAGE/NAME`
  */
final class BuiltIns(all: Map[String, BuiltIn]):
  def of(action: Action): Option[BuiltIn] =
    Option.when(action.target.namespace == BuiltIns.Namespace)(action.target.path).flatMap(all.get)

object BuiltIns:
  /** Whose packages they are in. Nobody has a key to it. */
  val Namespace = "whisk.system"

  /** The kind of their definitions. */
  val Kind = "builtin"
