package burst.controller.store

import io.circe.JsonObject

/** An API of the gateway as it is stored: a swagger document, and the keys it is found by. */
final case class StoredApi(
    namespace: String,
    basePath: String,
    title: String,
    document: JsonObject
)

/** How much a namespace's other APIs take. */
final case class ApisBeside(count: Int, characters: Long)

trait ApiStore:
  /** Lists APIs by base path: all of a namespace, or the one that `api` names by its base path or by its
    * title.
    */
  def list(tenant: String, api: Option[String], limit: Int, skip: Int): Vector[StoredApi]

  /** Returns the base paths with their revisions; each change makes a new revision. */
  def revisions(tenant: String): Map[String, String]
  def find(tenant: String, basePath: String): Option[StoredApi]

  /** Replaces the API of that name, if there is one, by what `next` returns for it, or removes it if that is
    * none; returns the result. Atomic under concurrent calls.
    */
  def edit[E](namespace: String, tenant: String, api: String)(
      next: (Option[StoredApi], ApisBeside) => Either[E, Option[StoredApi]]
  ): Either[E, Option[StoredApi]]
