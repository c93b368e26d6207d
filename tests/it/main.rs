mod house_rules;
