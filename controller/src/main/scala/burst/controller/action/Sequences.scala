package burst.controller.action

import burst.controller.store.Identity

/** Why a sequence is invalid. */
enum SequenceProblem:
  case NoComponents
  case BadComponents
  case NoSuchComponent(name: ActionName)
  case NotEntitled(name: ActionName)
  case Cyclic
  case TooLong(most: Int)

/** Checks sequences before they are stored. */
final class Sequences(actions: Actions):
  import Sequences.*
  import SequenceProblem.*

  /** Returns the components by their qualified names. Blocks. */
  def resolve(
      caller: Identity,
      sequence: ActionName,
      components: Vector[String]
  ): Either[SequenceProblem, Vector[String]] =
    val names = components.map(ActionName.parse(_, caller.namespace))
    if components.isEmpty then Left(NoComponents)
    else if components.lengthIs > Most then Left(TooLong(Most))
    else if names.exists(_.isEmpty) then Left(BadComponents)
    else count(caller, sequence, names.flatten, depth = 1).map(_ => names.flatten.map(_.qualified))

  /** Counts the actions in a sequence that are not themselves sequences. */
  private def count(
      caller: Identity,
      sequence: ActionName,
      components: Vector[ActionName],
      depth: Int
  ): Either[SequenceProblem, Int] =
    components.foldLeft[Either[SequenceProblem, Int]](Right(0)): (sofar, name) =>
      for
        before <- sofar
        _ <- Either.cond(name != sequence, (), Cyclic)
        found <- actions.find(caller, name).left.map:
          case ActionProblem.NotEntitled => NotEntitled(name)
          case _ => NoSuchComponent(name)
        _ <- Either.cond(found.target != sequence, (), Cyclic)
        own <-
          if !found.definition.isSequence then Right(1)
          // Each has at least one component, so deeper nesting exceeds the limit anyway.
          else if depth == Most then Left(TooLong(Most))
          else
            val inner = found.definition.action.components
            count(caller, sequence, inner.flatMap(ActionName.parse(_, caller.namespace)), depth + 1)
        all = before + own
        _ <- Either.cond(all <= Most, (), TooLong(Most))
      yield all

object Sequences:
  /** The most actions of a sequence, including those of the sequences in it. */
  val Most = 50
