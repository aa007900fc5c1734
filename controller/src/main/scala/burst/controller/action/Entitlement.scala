package burst.controller.action

import burst.controller.store.Identity
import scala.annotation.tailrec

/** Checks whether a caller may invoke everything that a sequence runs. */
private[action] final class Entitlement(actions: Actions):
  /** Returns a component of the sequence, or of a nested one, that the caller may not invoke. A missing one
    * is noticed when its turn comes. Blocks.
    */
  def lacking(caller: Identity, sequence: Action): Option[ActionName] =
    @tailrec
    def first(names: Vector[ActionName], left: Int): Option[ActionName] = names.headOption match
      case Some(name) if left > 0 =>
        actions.find(caller, name) match
          case Left(ActionProblem.NotEntitled) => Some(name)
          case Right(action) if Composition.isSequence(action) =>
            first(components(caller, action) ++ names.tail, left - 1)
          case _ => first(names.tail, left - 1)
      case _ => None
    // Components beyond this number never run, even in a cycle of sequences.
    first(components(caller, sequence), Composition.MostComponents)

  private def components(caller: Identity, sequence: Action): Vector[ActionName] =
    sequence.definition.action.components.flatMap(ActionName.parse(_, caller.namespace))
