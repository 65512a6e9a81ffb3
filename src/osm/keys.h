/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keys.h - routing keys in the subnet manager: the control socket's thread on one side, sweeps on
 * the other. Off unless `control_socket` is set; then struct plugin.keys is NULL and nothing
 * happens.
 *
 * The thread never touches OpenSM's tables and sends no MADs. When the tables should have other
 * entries it takes OpenSM's exclusive lock, sets subn.force_reroute and signals the sweeper, which
 * calls the engine without a discovery. sweep.c then keeps the base routing and lays the entries
 * over it (osr_keys_sweep()); a sweep with discovery lays them over what it has routed
 * (osr_keys_lay()).
 */
#ifndef OSR_OSM_KEYS_H
#define OSR_OSM_KEYS_H

#include <stdbool.h>

#include <jansson.h>

#include <osmroutes/arena.h>
#include <osmroutes/fabric.h>

struct keys;
struct plugin;
struct sweep;
struct sweep_slot;

/*
 * Under OpenSM's exclusive lock. Lays the entries of all keys over slot->result; slot->keyed and
 * has_keys are the outcome, checked. Keys whose entries cannot be used are withdrawn.
 */
void osr_keys_lay(struct plugin *plugin, struct sweep_slot *slot, struct osr_arena *scratch);
/* OpenSM goes on with its present tables: did the change of the fabric affect the keys? */
void osr_keys_fabric(struct plugin *plugin, const struct osr_fabric *fabric);

/*
 * Sets the answers of the socket about the subnet manager, and takes ownership of them.
 * plugin->keys is set.
 */
void osr_keys_tell(struct plugin *plugin, json_t *sm);

/*
 * True if this sweep was asked for by the keys alone, and has been done: no discovery, and no
 * engine.
 */
bool osr_keys_sweep(struct sweep *sweep);
/* One line about the keys that are in the tables. */
void osr_keys_report(const struct sweep *sweep);

#endif
