package burst.controller.store

import io.circe.JsonObject

/** An API of the gateway as it is stored: a swagger document, and what it is looked for by. */
final case class StoredApi(
    namespace: String,
    basePath: String,
    title: String,
    document: JsonObject
)

/** What a namespace's other APIs take. */
final case class ApisBeside(count: Int, characters: Long)

trait ApiStore:
  /** By base path: all of a namespace, or that which is called `api`, by its base path or else by its title.
    */
  def list(tenant: String, api: Option[String], limit: Int, skip: Int): Vector[StoredApi]

  /** Base paths, each with its revision: another one with each change. */
  def revisions(tenant: String): Map[String, String]
  def find(tenant: String, basePath: String): Option[StoredApi]

  /** Puts what `next` makes of the API that is called so, if there is one, in its place; removes it for
    * nothing; returns it. Atomic under concurrent calls.
    */
  def edit[E](namespace: String, tenant: String, api: String)(
      next: (Option[StoredApi], ApisBeside) => Either[E, Option[StoredApi]]
  ): Either[E, Option[StoredApi]]
