package burst.controller.http

import burst.protocol.JsonText

/** The fields of OpenWhisk's entities that may be long, each with its limit. */
object EntityFields:
  /** The most bytes of the parameters, and the most values in them: each value becomes several objects when
    * parsed.
    */
  val MostParameters: Long = 1024 * 1024
  val MostValues: Int = 100_000

  /** The most bytes of the annotations, which lists show for each of their entities. */
  val MostAnnotations: Long = 64 * 1024

  private val limits = Map("parameters" -> MostParameters, "annotations" -> MostAnnotations)

  def keySet: Set[String] = limits.keySet

  /** Returns what is wrong with the first field that is too large, if there is one. */
  def problem(fields: Vector[(String, JsonText)]): Option[ApiError] =
    fields.flatMap(problem).headOption.map(ApiError.OfEntity(_))

  private def problem(field: (String, JsonText)): Option[EntityProblem] =
    val (name, text) = field
    if text.length > limits(name) then Some(EntityProblem.FieldTooLarge(name, limits(name)))
    else
      // Depth and numbers were checked with the whole body.
      JsonCheck.problem(
        text.bytes,
        JsonLimits(depth = MostDepth, values = MostValues, number = Int.MaxValue)
      ).map: _ =>
        EntityProblem.TooManyValues(name, MostValues)

  /** The depth limit where the real one is checked elsewhere. */
  private[http] val MostDepth = 10_000
