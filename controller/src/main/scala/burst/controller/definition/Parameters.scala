package burst.controller.definition

import io.circe.JsonObject

/** Parameters of an action or a package.
  *
  * @param init
  *   names of those that a program gets in its environment at its start, and not in its inputs
  */
final case class Parameters(values: JsonObject, init: Set[String] = Set.empty):
  /** These parameters, plus those of `others` whose names are not among them. */
  def over(others: Parameters): Parameters =
    val all = JsonObject.fromIterable(others.values.toIterable ++ values.toIterable)
    Parameters(all, init ++ others.init.filterNot(values.contains))

  def ofStart: JsonObject = values.filterKeys(init)
  def ofInputs: JsonObject = values.filterKeys(!init(_))

object Parameters:
  val Empty: Parameters = Parameters(JsonObject.empty)
