package burst.controller.http

import burst.controller.definition.{ActionPackage, Definition}
import io.circe.JsonObject
import io.circe.syntax.*

/** The annotations that a list shows of its entities. They are limited: a long list with long annotations
  * would be held in memory for each client that reads it slowly.
  */
object ListedAnnotations:
  /** The most characters of the annotations of one list. Entities after these show only [[Always]]. */
  val Most: Int = 1024 * 1024

  /** The annotations by which clients recognise what an entity is. */
  private val Always = Set("feed", "web-export", "raw-http", "final", "exec")
  private val Short = 256

  def ofActions(found: Iterator[Definition]): Vector[Definition] =
    within(found)(_.action.annotations): (definition, shown) =>
      definition.copy(action = definition.action.copy(annotations = shown))

  def ofPackages(found: Iterator[ActionPackage]): Vector[ActionPackage] =
    within(found)(_.annotations)((found, shown) => found.copy(annotations = shown))

  /** Processes one entity after the other, so that none is held with more than is shown of it. */
  def within[A](found: Iterator[A])(annotations: A => JsonObject)(showing: (A, JsonObject) => A): Vector[A] =
    var left = Most
    found
      .map: entity =>
        val all = annotations(entity)
        left -= all.asJson.noSpaces.length.min(left)
        if left > 0 then entity
        else showing(entity, all.filter((name, value) => Always(name) && value.noSpaces.lengthIs <= Short))
      .toVector
